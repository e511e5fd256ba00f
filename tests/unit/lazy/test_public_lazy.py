"""`thunk.lazy` by name: graphs, hashes, runs by hash, extraction, events, counters, caches."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import thunk
from thunk import lazy
from thunk.base.config import config
from thunk.lazy import ir_cache, metrics
from thunk.lazy.compiled import computations
from thunk.lazy.computation import (
    get_graph_hash,
    get_tensors_device_data_node,
    get_tensors_ts_device_data_node,
    run_cached_graph,
)
from thunk.lazy.eager import execution
from thunk.lazy.extract_compiled_graph import extract_compiled_graph
from thunk.lazy.trace import traces


@pytest.fixture(autouse=True)
def lazily() -> Iterator[None]:
    before = config.interpret_first
    config.interpret_first = False
    try:
        with execution(True):
            lazy.mark_step(wait=True)
            metrics.reset()
            yield
    finally:
        config.interpret_first = before
        traces.current.materialise()


def test_nothing_is_counted_at_import() -> None:
    code = "import thunk, thunk.lazy; assert thunk.lazy.metrics.counter_names() == []"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_counters_of_a_step() -> None:
    x = thunk.ones(3)
    for _ in range(3):
        y = x + 2
        del y
        z = (x * 3).exp()
        lazy.mark_step(wait=True)
    assert z.tolist()[0] == pytest.approx(20.0855369)
    value = metrics.counter_value
    assert value("MarkStep") == 3
    assert value("UncachedCompile") == 2  # the first step makes x as well
    assert value("CachedCompile") == 1 and value("Executions") == 3
    assert value("SyncedTensorsWithIR") == 4
    assert value("IrNodeReused_exp") == 1
    assert value("DestroyLtcTensor") > 0
    assert value("CreateLtcTensor") - value("DestroyLtcTensor") == 4
    assert "CompileTime" in metrics.metric_names()
    assert "Percentiles" in metrics.metrics_report()


def test_fallbacks_are_counted_by_name() -> None:
    assert lazy.fallback_ops() == []
    assert thunk.nonzero(thunk.ones(3)).shape == (3, 1)
    assert "aten::_nonzero_columns" in lazy.fallback_ops()


def test_every_execution_says_why_and_where() -> None:
    # Of a size that no other test has: its paths and graphs would be known.
    size = 23
    computations.clear()
    x = thunk.ones(size)
    lazy.mark_step(wait=True)
    weight = thunk.nn.Parameter(thunk.ones(size))
    with lazy.explain() as account:
        (x * 2).sum().item()
        print(x + 5)
        if (x < 3).all():
            pass
        optimizer = thunk.optim.SGD([weight], lr=0.5)
        (weight * x).sum().backward()
        optimizer.step()
        y = x * 7
        lazy.mark_step()
    causes = [each.cause for each in account.executions]
    assert causes == ["item", "print", "bool", "optimizer step", "mark_step"]
    assert all("test_public_lazy.py:" in each.where for each in account.events)
    assert [each.hit for each in account.executions] == [False] * 5
    assert len(account.compiles) == 5
    assert y.tolist() == [7] * size


def test_a_compile_says_what_differed() -> None:
    def run(size: int) -> None:
        x = thunk.ones(size)
        lazy.mark_step(wait=True)
        (x.tanh() * x.cosh()).sum().item()

    computations.clear()
    run(4)
    with lazy.explain() as account:
        run(4)
    assert account.compiles == [] and [each.hit for each in account.executions] == [True, True]
    with lazy.explain() as account:
        run(5)
    first, second = account.compiles
    assert "float32[5]" in str(first.difference)
    assert "a0: float32[5], where the nearest graph has a0: float32[4]" in str(second.difference)


def test_executions_and_compiles_can_be_forbidden() -> None:
    x = thunk.ones(3)
    lazy.mark_step(wait=True)
    y = x + 41
    with lazy.forbid_execution(), pytest.raises(lazy.ForbiddenError, match=r"item.*test_public"):
        y[0].item()
    assert y.tolist() == [42.0] * 3
    with lazy.forbid_compile():
        (x + 41).tolist()  # known by now
        with pytest.raises(lazy.ForbiddenError, match="compile"):
            (thunk.ones(3) + 41).atanh().tolist()


def test_clearing_the_trie_recompiles_nothing() -> None:
    def step() -> float:
        x = thunk.full((3,), 2.5)
        return float((x * x).log2().sum())

    expected = step()
    ir_cache.reset()
    assert ir_cache.size() == 1
    with lazy.forbid_compile():
        assert step() == expected
    assert metrics.counter_value("UncachedCompile") == 1


def test_a_cache_of_no_size_compiles_every_time_and_works(monkeypatch: pytest.MonkeyPatch) -> None:
    before = config.lazy_compilation_cache_size
    config.lazy_compilation_cache_size = 0
    try:
        for count in range(1, 4):
            assert (thunk.ones(3) * 11).sinh().sum().item() > 0
            assert metrics.counter_value("UncachedCompile") == count
        assert len(computations) == 0
    finally:
        config.lazy_compilation_cache_size = before


def test_the_least_recently_used_graph_goes() -> None:
    before = config.lazy_compilation_cache_size
    computations.clear()
    config.lazy_compilation_cache_size = 2
    try:
        def run(size: int) -> int:
            (thunk.ones(size) * 11).sinh().sum().item()
            return metrics.counter_value("UncachedCompile")

        assert [run(3), run(4), run(3), run(5), run(3), run(4)] == [1, 2, 2, 3, 3, 4]
        assert len(computations) == 2
    finally:
        config.lazy_compilation_cache_size = before


def test_graphs_as_text_picture_and_program(tmp_path: Path) -> None:
    x = thunk.ones(2, 3)
    lazy.mark_step(wait=True)
    y = x.exp() + 1
    text = lazy.debug.dump_ir([y], "text")
    assert "aten.exp" in text and "test_public_lazy.py" in text
    assert "aten::exp" in lazy.debug.render_ir_graph([y])
    assert "kernel" in lazy.debug.dump_ir([y], "backend")
    with pytest.raises(RuntimeError, match="expected 'text'"):
        lazy.debug.dump_ir([y], "none")
    assert y._node is not None
    lazy.ir_cache.dump(str(tmp_path / "trie.dot"))
    assert "aten::exp" in (tmp_path / "trie.dot").read_text()


def test_graphs_run_again_by_hash_on_other_inputs() -> None:
    x, y = thunk.ones(2, 3), thunk.full((2, 3), 2.0)
    lazy.mark_step(wait=True)
    z = (x * 3 + y).neg()
    name = get_graph_hash([z])
    assert name == get_graph_hash([(x * 3 + y).neg()])
    assert name != get_graph_hash([(x * 4 + y).neg()])
    ids, data = get_tensors_device_data_node([z])
    assert get_tensors_ts_device_data_node([z])[0] == ids
    assert ids == [lazy.get_tensor_id(x), lazy.get_tensor_id(y)] and data[0] is x
    lazy.sync_multi([z], [])
    result, = run_cached_graph(name, [thunk.full((2, 3), 10.0), y])
    assert result.tolist() == [[-32.0] * 3] * 2 and z.tolist() == [[-5.0] * 3] * 2
    with pytest.raises(RuntimeError, match="hash"):
        run_cached_graph("none", [])
    with pytest.raises(RuntimeError, match="shape"):
        run_cached_graph(name, [thunk.ones(3), y])


def test_an_extracted_graph_traces_nothing() -> None:
    net = thunk.nn.Sequential(thunk.nn.Linear(3, 4), thunk.nn.BatchNorm1d(4), thunk.nn.Tanh())
    other = thunk.nn.Sequential(thunk.nn.Linear(3, 4), thunk.nn.BatchNorm1d(4), thunk.nn.Tanh())
    other.load_state_dict(net.state_dict())
    example = thunk.randn(5, 3)
    compiled = extract_compiled_graph(net, [example])
    made = metrics.counter_value("IrNodeCreated")
    for _ in range(3):
        given = thunk.randn(5, 3)
        lazy.mark_step(wait=True)
        result, = compiled(given)
        with execution(False):
            assert thunk.allclose(result, other(given), atol=1e-5)
    lazy.mark_step(wait=True)
    for name, value in net.state_dict().items():
        assert thunk.allclose(value, other.state_dict()[name], atol=1e-5), name
    assert made > 0


def test_an_extracted_graph_writes_arguments_and_returns_duplicates() -> None:
    def function(a: Any, b: Any) -> Any:
        a.add_(b)
        c = a * 2
        return c, b, c

    given = thunk.ones(3), thunk.ones(3)
    compiled = extract_compiled_graph(function, given)
    assert given[0].tolist() == [1, 1, 1]
    a, b = thunk.full((3,), 4.0), thunk.full((3,), 2.0)
    first, second, third = compiled(a, b)
    assert a.tolist() == [6, 6, 6] and first.tolist() == [12, 12, 12]
    assert second.tolist() == [2, 2, 2] and first is third


def test_what_falls_back_is_not_extracted() -> None:
    with pytest.raises(RuntimeError, match="fallback: aten::_nonzero_columns=1"):
        extract_compiled_graph(lambda x: thunk.nonzero(x), [thunk.ones(3)])
    with pytest.raises(RuntimeError, match="needed while tracing"):
        extract_compiled_graph(lambda x: x * x.sum().item(), [thunk.ones(3)])


def test_files_and_containers(tmp_path: Path) -> None:
    tensors = {"a": thunk.ones(3) * 2, "b": [thunk.zeros(2), 5]}
    moved = lazy.to_cpu(tensors)
    assert moved["a"].tolist() == [2, 2, 2] and moved["b"][1] == 5
    lazy.save(tensors, tmp_path / "file.pt")
    assert thunk.load(tmp_path / "file.pt")["a"].tolist() == [2, 2, 2]


def test_the_executor_by_the_names_of_the_other_one() -> None:
    executor = lazy.LazyGraphExecutor.get()
    x = thunk.ones(3) * 6
    assert [id(each) for each in executor.get_live_tensors()] == [id(x)]
    assert executor.collect_sync_tensors([x, x]) == [0]
    assert [each.op.name for each in executor.run_post_order([x])][-1] == "mul"
    first, second = executor.get_tensors([x, x])
    assert first is second and first.tolist() == [6, 6, 6]
    assert executor.collect_sync_tensors([x]) == []
    executor.register_tensor(x)
    assert [id(each) for each in executor.get_live_tensors()] == [id(x)]
    executor.unregister_tensor(x)
    assert executor.get_live_tensors() == []
    one = executor.get_ir_value_for_scalar(0.25, thunk.float32, "cpu")
    assert executor.get_ir_value_for_scalar(0.25, thunk.float32, "cpu") is one
    assert metrics.counter_value("DeviceDataCacheMiss") == 1
    wide = executor.get_ir_value_for_expanded_scalar(0.25, (2, 2), thunk.float32, "cpu")
    assert wide.tolist() == [[0.25, 0.25]] * 2
    executor.set_noop_execution_mode(True)
    try:
        nothing = thunk.ones(1000) * 2
        lazy.mark_step(wait=True)
        assert nothing._node is None
    finally:
        executor.set_noop_execution_mode(False)
    before = executor.trim_counter
    executor.increment_trim_counter()
    assert executor.trim_counter == before + 1
    executor.clear_caches()
    assert len(executor.get_computation_cache()) == 0


def test_steps_run_closures_and_seed_anew() -> None:
    seen: list[float] = []
    x = thunk.ones(2) * 3
    lazy.add_step_closure(lambda value: seen.append(value.sum().item()), (x,))
    assert seen == []
    lazy.mark_step()
    assert seen == [6.0]
    lazy.wait_device_ops()


def test_loops_that_never_sync_are_cut() -> None:
    before = config.lazy_longest_trace
    config.lazy_longest_trace = 40
    try:
        x = thunk.zeros(3)
        with lazy.explain() as account:
            for _ in range(500):
                x = x * 0.5 + 1
                assert len(traces.current.results) <= 41
        causes = {each.cause for each in account.executions}
        assert causes <= {"trace too long", "the path repeats"} and causes
        assert 25 <= len(account.executions) <= 40  # of about 26 operations, inputs apart
        assert len(account.compiles) <= 4
        assert x.tolist() == pytest.approx([2.0] * 3)
    finally:
        config.lazy_longest_trace = before


def test_a_trace_of_much_memory_is_cut() -> None:
    before = config.lazy_largest_trace
    config.lazy_largest_trace = 1
    try:
        x = thunk.ones(1 << 16)
        with lazy.explain() as account:
            for _ in range(12):
                x = x + 1
        assert len(account.executions) >= 2
        assert x[0].item() == 13
    finally:
        config.lazy_largest_trace = before


def test_paths_are_not_followed_if_so_chosen() -> None:
    lazy.config.set_reuse_ir(False)
    try:
        for _ in range(3):
            assert (thunk.ones(3) * 9).tanh().sum().item() > 2
            assert ir_cache.size() == 1
    finally:
        lazy.config.set_reuse_ir(True)
    assert metrics.counter_value("UncachedCompile") == 1


def test_graphs_that_are_compiled_are_saved(tmp_path: Path) -> None:
    config.lazy_save_graphs_file = str(tmp_path / "graphs")
    try:
        for _ in range(3):
            assert (thunk.ones(3) * 8.5).asinh().sum().item() > 2
    finally:
        config.lazy_save_graphs_file = ""
    text = (tmp_path / "graphs").read_text()
    assert text.count("aten.asinh") == 1 and "compiled for cpu" in text


def test_paths_of_many_shapes_are_forgotten() -> None:
    before = config.lazy_paths
    config.lazy_paths = 300
    try:
        for size in range(1, 200):
            assert thunk.full((size,), 2.0).add(1).sum().item() == 3 * size
            assert ir_cache.size() <= 320
    finally:
        config.lazy_paths = before
    assert metrics.counter_value("TrieCleared") >= 2


def test_no_call_is_cut_in_its_middle() -> None:
    before = config.lazy_longest_trace
    try:
        for longest in range(20, 60, 3):
            config.lazy_longest_trace = longest
            x = thunk.zeros(4, requires_grad=True)
            y = x * 1
            for number in range(30):
                y[number % 4] += number
                y[[number % 3]] = y[[3]]
            y.sum().backward()
            assert x.grad is not None
            with execution(False):
                other = thunk.zeros(4, requires_grad=True)
                z = other * 1
                for number in range(30):
                    z[number % 4] += number
                    z[[number % 3]] = z[[3]]
                z.sum().backward()
            assert y.tolist() == z.tolist() and x.grad.tolist() == other.grad.tolist()
    finally:
        config.lazy_longest_trace = before
