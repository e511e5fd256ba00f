"""Enters: a walk. Leaves: its results with their tensors, computed or under way.

Invariant: either everything is committed or nothing. An interrupt before the run was handed over
leaves the walk pending, and one after it finds the walk committed.
"""

from __future__ import annotations

import threading
from sys import getrefcount
from typing import Any

from thunk.base.config import config
from thunk.dispatch.state import no_grad_recording
from thunk.lazy.abandon import abandon
from thunk.lazy.cause import announce, announce_compile
from thunk.lazy.compiled import Computation
from thunk.lazy.eager import eager
from thunk.lazy.layout import layout_of
from thunk.lazy.metrics import count
from thunk.lazy.node import count_below
from thunk.lazy.noop import enabled, memory_for
from thunk.lazy.plan import Plan
from thunk.lazy.run import Run, inflight
from thunk.lazy.trace import Trace
from thunk.lazy.watch import watched
from thunk.runtime.launch import DependentFailure, Launch
from thunk.runtime.storage import Bytes, allocate

_MOST_MASKS = 64
_MOST_RUNS = 64  # as many as a queue holds: behind a failure they pile up until somebody is told


class _Paths(threading.local):
    """How many nodes this thread's trie has at most; they are counted when that may be too many."""

    bound = 0
    full = False

    def grow(self, trace: Trace) -> None:
        """A path was walked to its end for the first time."""
        self.bound += trace.end.depth
        if self.bound > config.lazy_paths:
            self.bound = count_below(trace.root)
            self.full = self.bound > config.lazy_paths

    def forget(self, trace: Trace) -> None:
        """Start the trie anew; compiled graphs are found again by what they compute."""
        trace.clear()
        self.bound, self.full = 0, False
        count("TrieCleared")


_paths = _Paths()
_forgets: list[bool] = []  # not empty if no path is to be followed again


def _choose_reuse() -> None:
    _forgets[:] = [] if config.lazy_reuse_ir else [True]


_choose_reuse()
config.watch("lazy_reuse_ir", _choose_reuse)


def cut(trace: Trace, wait: bool = True, cause: str = "") -> None:
    """Run the walk and commit it; who does not `wait` gets results that are still being computed.

    A failure of a run that was waited for is raised here, any other by the next who waits; who
    never waits is told in the end, too.
    """
    if trace.cutting:
        raise RuntimeError("lazy: expected no value to be needed while a trace is being cut")
    if trace.is_empty:
        return
    trace.cutting = True
    try:
        try:
            plan = _plan(trace)
        except Exception as error:
            abandon(trace, error)  # or every later cut would fail in the same way
            raise
        if plan.empty:
            _commit(trace, plan, [], None)
        else:
            _execute(trace, plan, wait, cause)
        if _paths.full or _forgets:
            _paths.forget(trace)
    finally:
        trace.cutting = False
    if inflight.runs and (wait or len(inflight.runs) > _MOST_RUNS):
        inflight.check()


def _execute(trace: Trace, plan: Plan, wait: bool, cause: str) -> None:
    computation = plan.computation
    if computation.donated:
        for storage in trace.storages:
            if storage.foreign:
                computation = plan.without_donation()
                break
    if watched():
        announce(computation, cause)
    if computation.executable is None:
        if not computation.interprets:
            announce_compile(computation, cause)
        plan.tally.missed += 1
    inputs, numbers = plan.inputs(trace.leaves), plan.numbers(trace.scalars)
    waits = wait and not computation.donated
    try:
        plan.expect_numbers(numbers)
        if enabled:
            outputs, waits = memory_for(computation, lambda: _empty_outputs(computation)), True
        elif computation.interprets:
            inflight.drain()
            _refuse_spoilt(inputs)
            outputs, waits = computation.run(inputs, numbers), True
        elif waits:
            outputs = computation.run(inputs, numbers)
        else:
            launch = computation.prepare(inputs, numbers)
    except Exception as error:
        _fail(trace, plan, computation, inputs, numbers, error)
        return
    if waits:
        _commit(trace, plan, outputs, None)
    else:
        run = Run(computation, inputs, numbers)
        run.launch = launch
        _start(trace, plan, run, launch)


def _start(trace: Trace, plan: Plan, run: Run, launch: Launch) -> None:
    generation = trace.generation
    run.leaves, run.storages, run.stored = trace.leaves, trace.storages, plan.undo
    outputs: list[Bytes] | None = None
    try:
        launch.start()
        outputs = run.outputs = launch.outputs if launch.error is None else _spoil(run, launch)
        inflight.add(run)
        _commit(trace, plan, outputs, run)
    except BaseException:
        if launch.started and trace.generation == generation:
            if outputs is None:
                outputs = run.outputs = launch.outputs
                inflight.add(run)
            _commit(trace, plan, outputs, run)
        raise


def _spoil(run: Run, launch: Launch) -> list[Bytes]:
    """Memory for the results of a run that failed at once."""
    return launch.outputs or _empty_outputs(run.computation)


def _empty_outputs(computation: Computation) -> list[Bytes]:
    return [
        allocate(each.spec.numel * each.spec.dtype.itemsize) for each in computation.graph.outputs
    ]


def _fail(
    trace: Trace, plan: Plan, computation: Computation, inputs: Any, numbers: Any,
    error: Exception,
) -> None:  # fmt: skip
    """Commit a run that failed before it gave results; what can be computed will be."""
    run = Run(computation, inputs, numbers)
    run.error = error
    run.outputs = _empty_outputs(computation)
    run.leaves, run.storages, run.stored = trace.leaves, trace.storages, plan.undo
    inflight.add(run)
    _commit(trace, plan, run.outputs, run)


def _commit(trace: Trace, plan: Plan, outputs: list[Bytes], run: Run | None) -> None:
    plan.tally.cuts += 1
    plan.tally.runs += not plan.empty
    lists = (trace.results, trace.registered, trace.foreign)
    walk = (*lists, trace.storages, trace.known, trace.segment)
    generation = trace.generation
    try:
        plan.commit(*walk, outputs, run)
        trace.reset()
    except BaseException:
        if trace.generation == generation:
            plan.commit(*walk, outputs, run)
        trace.reset()
        raise


def _refuse_spoilt(inputs: Any) -> None:
    """An interpreter would compute with what a failed run left."""
    if inflight.has_failed:
        raise DependentFailure("run: expected its inputs to have been computed")
    for memory in inputs:
        cause = inflight.why_spoilt(memory)
        if cause is not None:
            raise DependentFailure(f"run: expected computed inputs, got a failure: {cause}")


def _plan(trace: Trace) -> Plan:
    """The plan of a walk: by the reference counts of its results, or by what they mean."""
    end = trace.end
    regular = not trace.segment.backward_nodes
    counts = tuple(map(getrefcount, trace.results + trace.storages)) if regular else ()
    if regular:
        known: Plan | None = end.plans.get(counts)
        if known is not None and known.fits(trace):
            return known
    layout = layout_of(trace)
    plan: Plan | None = end.plans.get(layout)
    if plan is None:
        with eager(), no_grad_recording():
            plan = end.plans[layout] = Plan(trace, layout)
        _paths.grow(trace)
    if regular and len(end.plans) < _MOST_MASKS:
        end.plans[counts] = plan
    return plan
