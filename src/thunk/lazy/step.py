"""Enters: the end of a step, whoever tells it. Leaves: the walk launched, and waited for if asked.

Invariant: an optimizer's step is a boundary by itself; only an explicit `mark_step` runs closures
and begins the device's random numbers anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from thunk.dispatch.state import state
from thunk.lazy.closure import run_step_closures
from thunk.lazy.device_context import device_contexts, get_device_context
from thunk.lazy.metrics import count
from thunk.lazy.run import inflight
from thunk.lazy.trace import traces
from thunk.types.tensor_base import TensorBase


def after_optimizer_step() -> None:
    """What an optimizer changed is computed while the program goes on."""
    trace = state.recorder or traces.current
    if not trace.cutting:
        trace.launch("optimizer step")


def mark_step(device: str = "", wait: bool = False) -> None:
    """End a step: launch what was recorded, and call what was to be called after the step.

    With `wait` the step is over when this returns, and its failure is raised here.
    """
    context = get_device_context(device)
    count("MarkStep")
    traces.current.launch("mark_step")
    context.end_step()
    if wait:
        inflight.wait()
    run_step_closures()


def wait_device_ops(devices: Sequence[str] | None = None) -> None:
    """Return when every run is over; raise the first failure nobody was told of."""
    inflight.wait()
    for context in device_contexts():
        context.lock.check()


def sync_multi(tensors: Iterable[Any], devices: Iterable[Any] = ()) -> None:
    """Compute these tensors, and what was recorded with them; launched, not waited for."""
    for tensor in tensors:
        if isinstance(tensor, TensorBase) and tensor._node is not None:
            tensor._node.trace.launch("sync_multi")


def settle_before_fork() -> None:
    """A child must neither run what its parent recorded nor wait for its parent's runs."""
    trace = traces.current
    if not trace.cutting:
        trace.launch("fork")
    inflight.drain()


os.register_at_fork(before=settle_before_fork)
