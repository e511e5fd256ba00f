"""Enters: a view operator's call. Leaves: tensors that are windows into their input's storage.

Invariant: a view's `base` is never itself a view; base, views and aliases share one write counter.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd.edges import MADE_WITHOUT_GRAD, ONE_OF_SEVERAL
from thunk.autograd.meta import history_of
from thunk.dispatch.infer import infer
from thunk.dispatch.keys import KeySet
from thunk.dispatch.state import state
from thunk.ir.opdef import NoGradient, OpDef
from thunk.runtime.tensors import new_tensor
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase


def view_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Evaluate a view operator: its shape rule is all there is to compute."""
    specs = infer(op, args)
    source = args[0]
    if isinstance(specs, TensorSpec):
        return _window(source, specs, op, several=False)
    return tuple([_window(source, spec, op, several=True) for spec in specs])


def _window(source: TensorBase, spec: TensorSpec, op: OpDef, several: bool) -> Any:
    storage = source._storage
    if storage.memory is not None:
        check_bounds(op, spec, storage.nbytes)
    view = new_tensor(source._storage, spec, source._versions)
    if isinstance(op.gradient, NoGradient):
        return view
    mark_view(view, source)
    if several:
        view._history.creation = ONE_OF_SEVERAL
    return view


def check_bounds(op: OpDef, spec: TensorSpec, nbytes: int) -> None:
    """Refuse a window that is not inside a storage of `nbytes`."""
    if spec.numel == 0:
        return
    needed = spec.extent() * spec.dtype.itemsize
    if needed > nbytes:
        raise RuntimeError(
            f"{op.name}: setStorage: expected a window inside the storage, got sizes "
            f"{list(spec.shape)}, strides {list(spec.strides)}, storage offset {spec.offset}, and "
            f"itemsize {spec.dtype.itemsize} requiring a storage size of {needed} which are out of "
            f"bounds for storage of size {nbytes}"
        )


def mark_view(view: TensorBase, source: TensorBase, recording: bool | None = None) -> None:
    """Record that `view` looks into `source`, or into what `source` looks into.

    `recording` is whether gradients were recorded when the view was made; None: they are now.
    """
    history = history_of(view)
    behind = source._history
    history.base = source if behind is None or behind.base is None else behind.base
    history.view_version = view._versions.value
    if not (state.grad_enabled if recording is None else recording):
        history.creation = MADE_WITHOUT_GRAD
    elif behind is not None and behind.creation:
        history.creation = behind.creation
