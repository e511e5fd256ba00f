"""Enters: a call that cannot wait. Leaves: its result, computed op by op.

Invariant: inside `eager()` nothing is recorded; pending operands are computed when their values are
read.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from thunk.dispatch.call import call
from thunk.dispatch.state import state
from thunk.ir.opdef import OpDef
from thunk.lazy.metrics import count
from thunk.runtime.tensors import new_tensor
from thunk.types.device import CPU, device
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase


class execution:
    """Switch this thread between lazy and eager execution inside a `with` block."""

    def __init__(self, lazy: bool) -> None:
        self._lazy = lazy

    def __enter__(self) -> None:
        self._previous = state.lazy
        state.lazy = self._lazy

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        state.lazy = self._previous


def eager() -> execution:
    """Run op by op on the reference backend inside a `with` block."""
    return execution(False)


def run_now(op: OpDef, args: tuple[Any, ...]) -> Any:
    """Run an operator whose result depends on data or chance; counted under its name."""
    count(op.full_name)
    where = _lazy_device(args)
    with eager():
        if where is None:
            return call(op, args)
        twins: dict[int, Any] = {}
        result = call(op, tuple([_moved(each, CPU, twins) for each in args]))
        return _moved(result, where, {id(twin): each for each, twin in twins.values()})


def _lazy_device(args: Any) -> device | None:
    """The lazy device that a call is for; the reference rules know processors only."""
    for each in args:
        where = each._spec.device if isinstance(each, TensorBase) else each
        if type(where) is device and where.type == "lazy":
            return where
        if isinstance(each, (tuple, list)):
            found = _lazy_device(each)
            if found is not None:
                return found
    return None


def _moved(value: Any, where: device, twins: dict[int, Any]) -> Any:
    """`value` with its tensors on another device; they share memory, writes and history."""
    if isinstance(value, (tuple, list)):
        return type(value)([_moved(each, where, twins) for each in value])
    if type(value) is device:
        return where
    if not isinstance(value, TensorBase):
        return value
    known = twins.get(id(value))
    if isinstance(known, TensorBase):
        return known
    spec = value._spec
    if known is None and spec.device == where:
        return value
    if known is None:
        moved = TensorSpec(spec.shape, spec.dtype, spec.strides, spec.offset, where)
        twin = new_tensor(value._storage, moved, value._versions)
        twin._history = value._history
        known = twins[id(value)] = (value, twin)
    return known[1]
