"""Enters: a walk. Leaves: the values of everything that is still alive, and of what backward needs.

Invariant: nothing is committed before everything is computed; an interrupt leaves the walk pending.
"""

from __future__ import annotations

from sys import getrefcount

from thunk.dispatch.state import no_grad_recording
from thunk.lazy.eager import eager
from thunk.lazy.layout import layout_of
from thunk.lazy.metrics import count
from thunk.lazy.plan import Plan
from thunk.lazy.trace import Trace

_MOST_MASKS = 64


def cut(trace: Trace) -> None:
    """Run the walk and commit it."""
    if trace.cutting:
        raise RuntimeError("lazy: expected no value to be needed while a trace is being cut")
    if trace.is_empty:
        return
    trace.cutting = True
    try:
        plan = _plan(trace)
        count("Executions")
        outputs = plan.execute(trace)
        plan.commit(trace, outputs)
        trace.reset()
    finally:
        trace.cutting = False


def _plan(trace: Trace) -> Plan:
    """The plan of a walk: by the reference counts of its results, or by what they mean."""
    end = trace.end
    regular = not (trace.irregular or trace.segment.backward_nodes)
    counts = tuple(map(getrefcount, trace.results)) if regular else ()
    if regular:
        known: Plan | None = end.plans.get(counts)
        if known is not None and known.fits(trace):
            return known
    layout = layout_of(trace)
    plan: Plan | None = end.plans.get(layout)
    if plan is None:
        with eager(), no_grad_recording():
            plan = end.plans[layout] = Plan(trace, layout)
    if regular and len(end.plans) < _MOST_MASKS:
        end.plans[counts] = plan
    return plan
