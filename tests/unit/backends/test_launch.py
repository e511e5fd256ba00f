"""Launches of compiled programs: overlap, failures, nesting, bounds, forks and the end."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy
import pytest

from graphs import Recorder
from thunk.backends.cpu.backend import cpu
from thunk.backends.cpu.flight import flight
from thunk.backends.cpu.launch import Launch
from thunk.backends.cpu.program import Program
from thunk.backends.reference.kernel import rules
from thunk.base.config import config
from thunk.base.errors import where_recorded
from thunk.runtime.backend import backend_named
from thunk.runtime.launch import DependentFailure

GATED = "aten::_conj_physical"  # has no lowering, so it is a step that calls Python


def ones(count: int = 4) -> numpy.ndarray:
    return numpy.ones(count, numpy.float32)


def plus(count: int = 4) -> tuple[Program, list[Any]]:
    """A program that adds a runtime number."""
    recorder = Recorder()
    x = recorder.input(ones(count))
    made = recorder.call("add.Tensor", x, recorder.number(1.0))
    return cpu.compile(recorder.outputs(made), frozenset()), recorder.arrays


def gated(count: int = 4) -> tuple[Program, list[Any]]:
    """A program that calls Python for its one step."""
    recorder = Recorder()
    x = recorder.input(ones(count))
    made = recorder.call("_conj_physical", x)
    return cpu.compile(recorder.outputs(made), frozenset()), recorder.arrays


def looked_up() -> tuple[Program, list[Any]]:
    """A program that fails where an index is out of bounds."""
    recorder = Recorder()
    x, rows = recorder.input(ones()), recorder.input(numpy.array([9], numpy.int64))
    made = recorder.call("index_select", x, 0, rows)
    return cpu.compile(recorder.outputs(made), frozenset()), recorder.arrays


def numbers(buffer: Any) -> list[float]:
    return [float(each) for each in buffer.view(numpy.float32)]


class Gate:
    """What the gated step does: wait until it is opened, then run `body` of its operand."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.reached = threading.Event()
        self.threads: list[int] = []
        self.body: Any = lambda array: array + 10

    def rule(self, spec: Any, array: Any) -> Any:
        self.threads.append(threading.get_ident())
        self.reached.set()
        self.opened.wait()
        return self.body(array)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    monkeypatch.setitem(rules, GATED, made.rule)
    yield made
    made.opened.set()
    flight().drain()
    while flight().first_failure() is not None:
        continue


def test_python_goes_on_while_a_program_runs(gate: Gate) -> None:
    program, arrays = gated()
    launch = program.launch(arrays, [])
    gate.reached.wait()  # it runs, and this line runs too
    assert not launch.done() and launch.started
    gate.opened.set()
    launch.wait()
    assert launch.done() and launch.error is None
    assert numbers(launch.outputs[0]) == [11.0] * 4
    assert gate.threads != [threading.get_ident()]


def test_launches_run_in_order_and_pass_buffers_on(gate: Gate) -> None:
    step, arrays = plus()
    first, _ = gated()
    launches = [first.launch(arrays, [])]
    for count in range(10):
        launches.append(step.launch(launches[-1].outputs, [float(count)]))
    assert not any(each.done() for each in launches)
    gate.opened.set()
    launches[-1].wait()
    assert all(each.done() for each in launches)
    assert numbers(launches[-1].outputs[0]) == [11.0 + 45.0] * 4


def test_each_launch_keeps_its_own_numbers(gate: Gate) -> None:
    step, arrays = plus()
    blocker, others = gated()
    blocker.launch(others, [])
    launches = [step.launch(arrays, [float(count)]) for count in range(12)]
    gate.opened.set()
    cpu.wait()
    assert [numbers(each.outputs[0])[0] for each in launches] == [1.0 + n for n in range(12)]


def test_buffers_live_until_the_launch_is_over(gate: Gate) -> None:
    blocker, others = gated()
    blocker.launch(others, [])
    step, _ = plus()
    launch = step.launch([ones().view(numpy.uint8)], [1.0])  # nobody else holds the input
    assert [sys.getrefcount(each) > 2 for each in launch.inputs] == [True]
    gate.opened.set()
    launch.wait()
    assert launch.inputs == [] and numbers(launch.outputs[0]) == [2.0] * 4


def test_a_failure_belongs_to_its_launch_and_is_told_once() -> None:
    bad, arrays = looked_up()
    good, others = plus()
    before = good.launch(others, [1.0])
    launch = bad.launch(arrays, [])
    after = good.launch(others, [2.0])
    with pytest.raises(IndexError) as caught:
        cpu.wait()
    cpu.wait()  # told already
    assert launch.error is caught.value
    assert (before.error, after.error) == (None, None)
    assert numbers(before.outputs[0]) == [2.0] * 4 and numbers(after.outputs[0]) == [3.0] * 4
    with pytest.raises(IndexError):
        launch.wait()  # who asks for this launch is told again


def test_a_failure_names_the_line_that_recorded_it(gate: Gate) -> None:
    """Of several lines in one kernel, the one that can have failed."""
    recorder = Recorder()
    x, rows = recorder.input(ones()), recorder.input(numpy.array([9], numpy.int64))
    fine = recorder.call("index_select", x, 0, recorder.call("mul.Tensor", rows, 0))
    bad = recorder.call("index_select", recorder.call("neg", x), 0, rows)
    recorder.outputs(fine, recorder.call("exp", bad))
    launch = cpu.compile(recorder.graph, frozenset()).launch(recorder.arrays, [])
    with pytest.raises(IndexError) as caught:
        launch.wait()
    lines = where_recorded(caught.value).split(", ")
    assert "test.py:4" in lines and set(lines) <= {"test.py:2", "test.py:4"}
    assert caught.value.__notes__ == [f"recorded at {', '.join(lines)}"]

    def fail(array: Any) -> Any:
        raise ArithmeticError

    gate.body = fail
    gate.opened.set()
    recorder = Recorder()
    called = recorder.call("_conj_physical", recorder.call("neg", recorder.input(ones())))
    program = cpu.compile(recorder.outputs(called), frozenset())
    launch = program.launch(recorder.arrays, [])
    child = program.launch(launch.outputs, [])
    with pytest.raises(ArithmeticError) as raised:
        launch.wait()
    assert where_recorded(raised.value) == "test.py:2"
    with pytest.raises(DependentFailure):
        child.wait()
    assert where_recorded(child.error) == "test.py:2"


def test_waiting_for_a_failed_launch_tells() -> None:
    bad, arrays = looked_up()
    launch = bad.launch(arrays, [])
    with pytest.raises(IndexError):
        launch.wait()
    cpu.wait()


def test_what_reads_a_failed_result_fails_with_it_and_the_rest_runs(gate: Gate) -> None:
    blocker, others = gated()
    step, arrays = plus()

    def fail(array: Any) -> Any:
        raise ArithmeticError("no result")

    gate.body = fail
    failing = blocker.launch(others, [])
    child = step.launch(failing.outputs, [1.0])
    independent = step.launch(arrays, [5.0])
    grandchild = step.launch(child.outputs, [1.0])
    last = step.launch(independent.outputs, [1.0])
    gate.opened.set()
    with pytest.raises(ArithmeticError, match="no result"):
        cpu.wait()
    cpu.wait()  # dependents are no failures of their own
    for each in (child, grandchild):
        assert isinstance(each.error, DependentFailure)
        assert isinstance(each.error.__cause__, ArithmeticError)
    assert (independent.error, last.error) == (None, None)
    assert numbers(last.outputs[0]) == [7.0] * 4
    late = step.launch(grandchild.outputs, [1.0])  # launched after the failure was seen
    with pytest.raises(DependentFailure):
        late.wait()
    assert numbers(step.run(arrays, [1.0])[0]) == [2.0] * 4


def test_a_second_failure_is_told_after_the_first(gate: Gate) -> None:
    blocker, others = gated()
    blocker.launch(others, [])
    bad, arrays = looked_up()
    launches = [bad.launch(arrays, []) for _ in range(2)]
    gate.opened.set()
    for launch in launches:
        with pytest.raises(IndexError) as caught:
            cpu.wait()
        assert caught.value is launch.error
    cpu.wait()


def test_a_donated_input_is_untouched_if_its_launch_was_dropped(gate: Gate) -> None:
    recorder = Recorder()
    x, y = recorder.input(ones()), recorder.input(ones())
    recorder.outputs(recorder.call("add.Tensor", x, y))
    inplace = cpu.compile(recorder.graph, frozenset({0}))
    assert inplace.plan.sources == [0]

    def fail(array: Any) -> Any:
        raise ArithmeticError

    gate.body = fail
    blocker, others = gated()
    failing = blocker.launch(others, [])
    parameter = ones().view(numpy.uint8)
    launch = inplace.launch([parameter, failing.outputs[0]], [])
    gate.opened.set()
    with pytest.raises(DependentFailure):
        launch.wait()
    assert numbers(parameter) == [1.0] * 4


def test_a_step_may_run_programs_of_its_own(gate: Gate) -> None:
    """The step runs on the native thread; a launch that queued behind it would wait for ever."""
    inner, _ = plus(6)
    outer, others = gated(6)

    def nested(array: Any) -> Any:
        memory = [numpy.ascontiguousarray(array).view(numpy.uint8)]
        launched = inner.launch(memory, [1.0])
        launched.wait()
        return inner.run(launched.outputs, [1.0])[0].view(numpy.float32)

    gate.body = nested
    gate.opened.set()
    launch = outer.launch(others, [])
    launch.wait()
    assert numbers(launch.outputs[0]) == [3.0] * 6
    assert numbers(outer.run(others, [])[0]) == [3.0] * 6
    assert flight().worker.submitted == flight().worker.completed


def test_a_step_may_run_its_own_program(gate: Gate) -> None:
    recorder = Recorder()
    x = recorder.input(ones(6))
    doubled = recorder.call("add.Tensor", x, x)
    inner = recorder.call("_conj_physical", doubled)
    made = recorder.call("add.Tensor", recorder.call("neg", inner), doubled)
    program = cpu.compile(recorder.outputs(made), frozenset())
    depth = 0

    def body(array: Any) -> Any:
        nonlocal depth
        if depth == 3:
            return array
        depth += 1
        memory = numpy.ascontiguousarray(array).view(numpy.uint8)
        return program.run([memory], [])[0].view(numpy.float32) + array

    gate.body = body
    gate.opened.set()
    # f(x) = 2x - g(2x); g at the bottom is the identity, so f there is 0, and above f(2x) + 2x.
    assert numbers(program.run(recorder.arrays, [])[0]) == [0.0] * 6


def test_a_step_that_waits_for_a_later_launch_is_refused(gate: Gate) -> None:
    step, arrays = plus()
    blocker, others = gated()
    later: list[Launch] = []

    def wait(array: Any) -> Any:
        later[0].wait()
        return array

    gate.body = wait
    launch = blocker.launch(others, [])
    later.append(step.launch(arrays, [1.0]))
    gate.opened.set()
    with pytest.raises(RuntimeError, match="from outside a running program"):
        launch.wait()
    later[0].wait()


def test_the_queue_is_bounded_in_depth(gate: Gate) -> None:
    step, arrays = plus()
    blocker, others = gated()
    with config.override(queue_depth=3):
        blocker.launch(others, [])
        for _ in range(2):
            step.launch(arrays, [1.0])
        assert len(flight().launches) == 3
        opener = threading.Thread(target=gate.opened.set)  # runs only if blocking frees the GIL
        opener.start()
        last = step.launch(arrays, [1.0])
        opener.join()
        assert gate.opened.is_set()
        last.wait()


def test_the_queue_is_bounded_in_bytes(gate: Gate) -> None:
    count = 1 << 18  # a result of a megabyte
    step, arrays = plus(count)
    blocker, others = gated()
    with config.override(queue_megabytes=3):
        blocker.launch(others, [])
        held = flight().nbytes
        for _ in range(2):
            step.launch(arrays, [1.0])
        assert flight().nbytes == held + 2 * 4 * count
        opener = threading.Thread(target=gate.opened.set)
        opener.start()
        last = step.launch(arrays, [1.0])
        opener.join()
        assert gate.opened.is_set()
        assert flight().nbytes <= 3 << 20
        last.wait()
    assert flight().nbytes == 0


def test_without_asynchrony_a_launch_is_over_when_it_returns() -> None:
    step, arrays = plus()
    with config.override(asynchronous=False):
        launch = step.launch(arrays, [1.0])
        assert launch.settled and numbers(launch.outputs[0]) == [2.0] * 4


def test_small_programs_run_here_when_nothing_is_queued(gate: Gate) -> None:
    gate.opened.set()
    program, arrays = gated()
    program.run(arrays, [])
    assert gate.threads == [threading.get_ident()]


def test_a_launch_that_was_not_started_says_so() -> None:
    step, arrays = plus()
    launch = step.prepare(arrays, [1.0])
    assert not launch.started and not launch.done()
    with pytest.raises(RuntimeError, match="expected a launch that was started"):
        launch.wait()
    launch.start()
    with pytest.raises(RuntimeError, match="expected a launch that was not started"):
        launch.start()
    launch.wait()


def test_an_interrupt_before_the_queue_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    step, arrays = plus()
    launch = step.prepare(arrays, [1.0])

    def interrupted(job: int) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(flight().worker, "submit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            launch.start()
    assert not launch.started and not flight().launches and flight().nbytes == 0
    launch.start()
    launch.wait()
    assert numbers(launch.outputs[0]) == [2.0] * 4


def test_an_interrupt_after_the_queue_took_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    step, arrays = plus()
    launch = step.prepare(arrays, [1.0])
    submit = flight().worker.submit

    def interrupted(job: int) -> int:
        submit(job)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(flight().worker, "submit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            launch.start()
    assert launch.started
    launch.wait()
    assert numbers(launch.outputs[0]) == [2.0] * 4


def test_a_finalizer_may_launch_while_launches_are_settled() -> None:
    step, arrays = plus()
    made: list[Launch] = []

    class Last(numpy.ndarray):  # type: ignore[type-arg]
        def __del__(self) -> None:
            if len(made) < 3:
                made.append(step.launch(arrays, [1.0]))

    for _ in range(3):
        memory = numpy.ones(4, numpy.float32).view(numpy.uint8).view(Last)
        launch = step.launch([memory], [1.0])
        del memory
        launch.wait()
    cpu.wait()
    assert len(made) == 3 and all(each.done() and each.error is None for each in made)
    assert not flight().launches and flight().nbytes == 0


def test_threads_launch_one_program_at_once() -> None:
    step, arrays = plus()
    wrong: list[Any] = []

    def many(start: float) -> None:
        for count in range(200):
            launch = step.launch(arrays, [start + count])
            if count % 3 == 0:
                launch.wait()
                if numbers(launch.outputs[0])[0] != 1 + start + count:
                    wrong.append(launch)
            elif numbers(step.run(arrays, [start])[0])[0] != 1 + start:
                wrong.append(start)

    threads = [threading.Thread(target=many, args=(1000.0 * index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cpu.wait()
    assert wrong == []


def test_ten_thousand_launches_leak_nothing() -> None:
    step, arrays = plus(8192)

    def many(count: int) -> None:
        for _ in range(count):
            step.launch(arrays, [1.0])
        cpu.wait()
        gc.collect()

    many(200)
    records = len(step.records)
    tracemalloc.start()
    try:
        many(100)
        before = tracemalloc.get_traced_memory()[0]
        many(10_000)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 8192, f"{grown} bytes after 10,000 launches"
    assert len(step.records) <= max(records, config.queue_depth + 1)
    assert flight().nbytes == 0 and not flight().launches


def child(body: str) -> subprocess.CompletedProcess[str]:
    """Run a script that starts with the functions of this file; Python 3.12 warns of its forks."""
    start = (
        "import os, sys, threading\n"
        "from test_launch import *\n"
        "def patched(body):\n"
        "    made = Gate(); made.body = body; made.opened.set(); rules[GATED] = made.rule\n"
        "    return made\n"
    )
    here = os.path.dirname(__file__)
    support = os.path.join(here, "..", "..", "support")
    path = os.pathsep.join([here, support, os.environ.get("PYTHONPATH", ""), *sys.path])
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", start + body],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


def test_a_forked_child_runs_on_its_own_thread() -> None:
    found = child(
        "gate = patched(lambda array: array + 1)\n"
        "program, arrays = gated()\n"
        "big, others = plus(1 << 20)\n"
        "pending = [program.launch(arrays, []) for _ in range(5)]\n"
        "big.run(others, [1.0])\n"
        "if os.fork() == 0:\n"
        "    assert not flight().worker.alive\n"
        "    assert all(numbers(each.outputs[0]) == [2.0] * 4 for each in pending)\n"
        "    del gate.threads[:]\n"
        "    launch = program.launch(arrays, [])\n"
        "    assert launch.done() and gate.threads == [threading.get_ident()]\n"
        "    assert numbers(launch.outputs[0]) == [2.0] * 4\n"
        "    assert numbers(big.run(others, [2.0])[0])[-1] == 3.0\n"
        "    cpu.wait()\n"
        "    os._exit(7)\n"
        "_, status = os.wait()\n"
        "assert os.waitstatus_to_exitcode(status) == 7, status\n"
        "assert numbers(big.run(others, [2.0])[0])[-1] == 3.0\n"
        "launch = big.launch(others, [3.0]); launch.wait()\n"
        "assert numbers(launch.outputs[0])[0] == 4.0 and flight().worker.alive\n"
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_queued_launches_finish_before_the_process_ends() -> None:
    found = child(
        "done = []\n"
        "gate = patched(lambda array: (done.append(1), print('ran', len(done)), array)[2])\n"
        "program, arrays = gated()\n"
        "for _ in range(5): program.launch(arrays, [])\n"
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.split("\n")[:5] == [f"ran {count}" for count in range(1, 6)]


def test_a_failure_that_nobody_waited_for_is_said_at_the_end() -> None:
    found = child("bad, arrays = looked_up()\nbad.launch(arrays, [])\n")
    assert found.returncode == 0
    assert "nobody waited for it" in found.stderr and "IndexError" in found.stderr


def test_launches_after_the_end_run_here() -> None:
    found = child(
        "import atexit\n"
        "step, arrays = plus()\n"
        "def late():\n"
        "    launch = step.launch(arrays, [1.0]); launch.wait()\n"
        "    print(numbers(launch.outputs[0]), flight().worker.alive)\n"
        "atexit.register(late)\n"
        "flight().close()\n"
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.strip() == "[2.0, 2.0, 2.0, 2.0] False"


def test_the_interpreting_backend_launches_too() -> None:
    recorder = Recorder()
    x = recorder.input(ones())
    graph = recorder.outputs(recorder.call("add.Tensor", x, recorder.number(1.0)))
    executable = backend_named("reference").compile(graph, frozenset())
    launch = executable.prepare(recorder.arrays, [2.0])
    assert not launch.started and not launch.done()
    with pytest.raises(RuntimeError, match="expected a launch that was started"):
        launch.wait()
    launch.start()
    launch.wait()
    assert launch.done() and numbers(launch.outputs[0]) == [3.0] * 4


def test_a_failure_of_the_interpreting_backend_waits_to_be_asked_for() -> None:
    recorder = Recorder()
    x, rows = recorder.input(ones()), recorder.input(numpy.array([9], numpy.int64))
    graph = recorder.outputs(recorder.call("index_select", x, 0, rows))
    backend = backend_named("reference")
    executable = backend.compile(graph, frozenset())
    launch = executable.launch(recorder.arrays, [])
    assert isinstance(launch.error, IndexError) and where_recorded(launch.error) == "test.py:1"
    with pytest.raises(IndexError):
        launch.wait()
    backend.wait()  # told already
    executable.launch(recorder.arrays, [])
    with pytest.raises(IndexError):
        backend.wait()
    backend.wait()


@pytest.mark.parametrize("seed", range(40))
def test_random_launches_end_as_their_inputs_say(seed: int) -> None:
    """A launch fails by itself, or because something that it reads failed, or gives its value."""
    random = Random(seed)
    step, arrays = plus()
    recorder = Recorder()
    x, rows = recorder.input(ones()), recorder.input(numpy.zeros(4, numpy.int64))
    recorder.outputs(recorder.call("index_select", x, 0, rows))
    picky = cpu.compile(recorder.graph, frozenset())
    good, bad = recorder.arrays[1], numpy.full(4, 9, numpy.int64).view(numpy.uint8)
    launches: list[tuple[Launch, str, float]] = []  # with how they end, and what they compute
    for _ in range(60):
        source, fate, value = arrays[0], "", 1.0
        if launches and random.random() < 0.8:
            before, fate, value = random.choice(launches[-8:])
            source = before.outputs[0]
        fate = "dependent" if fate else ""
        if random.random() < 0.5:
            number = float(random.randrange(9))
            launches.append((step.launch([source], [number]), fate, value + number))
        else:
            fails = random.random() < 0.2
            launch = picky.launch([source, bad if fails else good], [])
            launches.append((launch, fate or ("own" if fails else ""), value))
        if random.random() < 0.1:
            with contextlib.suppress(IndexError, DependentFailure):
                random.choice(launches)[0].wait()
    flight().drain()
    for launch, fate, value in launches:
        kind = {"own": IndexError, "dependent": DependentFailure, "": type(None)}[fate]
        assert type(launch.error) is kind
        assert fate or numbers(launch.outputs[0]) == [value] * 4
    assert flight().nbytes == 0 and not flight().launches
    while flight().first_failure() is not None:
        continue
