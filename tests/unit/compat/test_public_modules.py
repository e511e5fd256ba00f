"""What real scripts touch beside tensors is there: harmless, or right."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import thunk
from thunk import distributed as dist


@pytest.mark.parametrize("name", ["cuda", "xpu", "mps", "accelerator"])
def test_absent_devices(name: str) -> None:
    module: Any = getattr(thunk, name)
    assert module.is_available() is False
    assert module.device_count() == 0
    for refused in ("synchronize", "current_stream", "get_device_name", "set_device"):
        if hasattr(module, refused):
            with pytest.raises((AssertionError, RuntimeError), match="is_available"):
                getattr(module, refused)()


def test_cuda_answers_without_a_device() -> None:
    cuda: Any = thunk.cuda
    cuda.manual_seed_all(0)
    cuda.empty_cache()
    assert cuda.memory_allocated() == cuda.max_memory_allocated() == 0
    assert cuda.get_rng_state_all() == []
    with cuda.device(0), cuda.stream(None):
        pass
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        cuda.Stream()
    assert thunk.accelerator.current_accelerator() is None


def test_a_group_of_one_process() -> None:
    assert dist.is_available()
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="init_process_group"):
        dist.get_rank()
    with pytest.raises(RuntimeError, match="world_size 1"):
        dist.init_process_group("gloo", world_size=2, rank=0)
    with pytest.raises(RuntimeError, match="NCCL"):
        dist.init_process_group("nccl", world_size=1, rank=0)
    dist.init_process_group("gloo", init_method="env://", world_size=1, rank=0)
    try:
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo")
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
        assert dist.group.WORLD is not None
        x = thunk.tensor([1.0, 2.0])
        dist.all_reduce(x, op=dist.ReduceOp.SUM)
        work = dist.all_reduce(x, async_op=True)
        assert work is not None
        assert work.wait()
        dist.broadcast(x, src=0)
        dist.barrier()
        assert x.tolist() == [1.0, 2.0]
        gathered = [thunk.zeros(2)]
        dist.all_gather(gathered, x)
        whole = thunk.zeros(1, 2)
        dist.all_gather_into_tensor(whole, x)
        assert gathered[0].tolist() == whole[0].tolist() == [1.0, 2.0]
        objects: list[Any] = [None]
        dist.all_gather_object(objects, {"a": 1})
        assert objects == [{"a": 1}]
        with pytest.raises(ValueError, match="another process"):
            dist.send(x, dst=1)
        with pytest.raises(ValueError, match="list of one"):
            dist.all_gather([x, x], x)
        with pytest.raises(ValueError, match="one process"):
            dist.new_group([0, 1])
        assert dist.new_group([0]).size() == 1
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def test_wrapped_modules() -> None:
    for wrapper in (thunk.nn.parallel.DistributedDataParallel, thunk.nn.DataParallel):
        inner = thunk.nn.Linear(2, 1)
        model = wrapper(inner)
        model(thunk.ones(3, 2)).sum().backward()
        assert inner.weight.grad.tolist() == [[3.0, 3.0]]
        assert sorted(model.state_dict()) == ["module.bias", "module.weight"]
        assert model.module is inner
    ddp = thunk.nn.parallel.DistributedDataParallel(thunk.nn.Linear(2, 1))
    with ddp.no_sync():
        assert ddp.require_backward_grad_sync is False
    assert ddp.require_backward_grad_sync is True
    frozen = thunk.nn.Linear(1, 1).requires_grad_(False)
    with pytest.raises(RuntimeError, match="require a gradient"):
        thunk.nn.parallel.DistributedDataParallel(frozen)
    with pytest.raises(RuntimeError, match="uninitialized parameters"):
        thunk.nn.parallel.DistributedDataParallel(thunk.nn.LazyLinear(1))


def test_torchscript_passes_through() -> None:
    def function(x: Any) -> Any:
        return x + 1

    module = thunk.nn.Linear(1, 1)
    jit: Any = thunk.jit
    assert jit.script(function) is jit.trace(function, (1,)) is function
    assert jit.script(module) is jit.trace(module, thunk.ones(1)) is module
    assert jit.ignore(function) is jit.unused(function) is jit.export(function) is function
    assert jit.ignore(drop=True)(function) is function
    assert (jit.is_scripting(), jit.is_tracing()) == (False, False)
    assert jit.annotate(int, 3) == 3
    assert jit.isinstance([1], list[int])
    with pytest.raises(RuntimeError, match="TorchScript"):
        jit.load("model.pt")


def test_asserts() -> None:
    thunk._assert(thunk.tensor(True), "fine")
    with pytest.raises(AssertionError, match="not fine"):
        thunk._assert(thunk.tensor(False), "not fine")
    with pytest.raises(IndexError, match="three"):
        thunk._check_index(False, lambda: "three")
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        thunk._check(False)
    with pytest.raises(TypeError, match="bool"):
        thunk._check(thunk.tensor(True))


def test_profiles(tmp_path: Path) -> None:
    done = []
    with thunk.profiler.profile(
        activities=[thunk.profiler.ProfilerActivity.CPU],
        schedule=thunk.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda measured: done.append(len(measured.events())),
        record_shapes=True,
    ) as measured:
        for _ in range(6):
            with thunk.profiler.record_function("forward"):
                thunk.ones(2).sum()
            measured.step()
    assert done == [4]
    with thunk.profiler.profile() as measured, thunk.profiler.record_function("work"):
        thunk.ones(2).sum()
    assert "work" in measured.key_averages().table(sort_by="cpu_time_total")
    measured.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {each["name"] for each in events} == {"work", "ProfilerStep#0"}


def test_timer() -> None:
    timer = thunk.utils.benchmark.Timer("x + x", globals={"x": thunk.ones(2)}, label="add")
    found = timer.timeit(3)
    assert found.number_per_run == 3
    assert found.median > 0
    assert "add" in repr(found)


def test_hub_is_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="not run"):
        thunk.hub.load("owner/repository", "model")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert thunk.hub.get_dir() == str(tmp_path / "hub")
    source = tmp_path / "weights-0000.pt"
    thunk.save({"w": thunk.ones(1)}, source)
    address = source.as_uri()
    found = thunk.hub.load_state_dict_from_url(address, file_name="copy.pt")
    assert found["w"].item() == 1.0
    with pytest.raises(RuntimeError, match="invalid hash"):
        thunk.hub.load_state_dict_from_url(address, check_hash=True)
    with pytest.raises(RuntimeError, match="network"):
        thunk.hub.load_state_dict_from_url((tmp_path / "none.pt").as_uri())


def test_assert_close() -> None:
    close = thunk.testing.assert_close
    close(thunk.ones(2), thunk.ones(2) + 1e-7)
    close({"a": [1.0, thunk.ones(1)]}, {"a": [1.0, thunk.ones(1)]})
    close(thunk.tensor(float("nan")), thunk.tensor(float("nan")), equal_nan=True)
    close(thunk.tensor([float("inf"), 1.0]), thunk.tensor([float("inf"), 1.0]))
    for wrong, words in (
        ((thunk.ones(2), thunk.ones(2) * 2), "Mismatched elements: 2 / 2"),
        ((thunk.ones(2), thunk.ones(3)), "shape"),
        ((thunk.ones(2), thunk.ones(2).double()), "dtype"),
        ((thunk.tensor([1, 2]), thunk.tensor([1, 3])), "index \\(1,\\)"),
        (([1, 2], [1]), "length"),
        (({"a": 1}, {"b": 1}), "keys"),
        ((thunk.tensor(float("nan")), thunk.tensor(float("nan"))), "not close"),
        (([thunk.ones(1), thunk.zeros(1)], [thunk.ones(1), thunk.ones(1)]), r"item \[1\]"),
    ):
        with pytest.raises(AssertionError, match=words):
            close(*wrong)
    with pytest.raises(ValueError, match="both or neither"):
        close(1.0, 1.0, rtol=1e-3)
    with pytest.raises(TypeError):
        close("a", "a")
    with pytest.raises(AssertionError, match="my words"):
        close(1, 2, msg="my words")


def test_lists_of_tensors() -> None:
    library: Any = thunk
    tensors = [thunk.ones(2), thunk.full((3,), 4.0)]
    assert [each.tolist() for each in library._foreach_sqrt(tensors)] == [[1.0] * 2, [2.0] * 3]
    library._foreach_add_(tensors, [thunk.ones(2), thunk.ones(3)], alpha=2)
    library._foreach_mul_(tensors, 2.0)
    assert [each.tolist() for each in tensors] == [[6.0] * 2, [12.0] * 3]
    library._foreach_zero_(tensors)
    assert [each.item() for each in library._foreach_norm(tensors)] == [0.0, 0.0]


def test_variables_and_diagonals() -> None:
    x: Any = thunk.zeros(4, 2)
    assert thunk.autograd.Variable(x) is x
    assert isinstance(x, thunk.autograd.Variable)
    assert thunk.autograd.Variable(x, requires_grad=True).requires_grad
    assert thunk.zeros(4, 2).fill_diagonal_(1).tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]
    assert thunk.zeros(4, 2).fill_diagonal_(1, True).tolist() == [[1, 0], [0, 1], [0, 0], [1, 0]]
    with pytest.raises(RuntimeError, match="equal length"):
        thunk.zeros(2, 3, 2).fill_diagonal_(1)


def test_futures() -> None:
    futures = thunk.futures
    one, two = futures.Future(), futures.Future()
    doubled = one.then(lambda done: done.value() * 2)
    both = futures.collect_all([one, two])
    assert not both.done()
    with pytest.raises(RuntimeError, match="wait"):
        one.value()
    one.set_result(3)
    two.set_exception(ValueError("no"))
    assert doubled.wait() == 6
    assert both.wait() == [one, two]
    with pytest.raises(ValueError, match="no"):
        two.wait()
    with pytest.raises(RuntimeError, match="second"):
        one.set_result(4)
    assert futures.wait_all([one]) == [3]
    assert one.then(lambda done: 1 / 0).done()


def test_devices_modules_and_helpers() -> None:
    library: Any = thunk
    assert library.get_device_module("cpu") is library.cpu
    assert library.get_device_module("cuda") is library.cuda
    assert library.cpu.is_available()
    with pytest.raises(RuntimeError, match="none is available"):
        library.Stream()
    utils = importlib.import_module("thunk._utils")
    tensors = [thunk.ones(2, 2), thunk.zeros(3)]
    flat = utils._flatten_dense_tensors(tensors)
    assert flat.tolist() == [1.0] * 4 + [0.0] * 3
    again = utils._unflatten_dense_tensors(flat, tensors)
    assert [tuple(each.shape) for each in again] == [(2, 2), (3,)]
    assert len(utils._take_tensors(tensors, 16)) == 2
    with pytest.raises(RuntimeError, match="fallback in Python"):
        library.utils.cpp_extension.load("name", [])
