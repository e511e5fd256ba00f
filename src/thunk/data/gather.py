"""Enters: plain tensors. Leaves: batches of them, made in one copy without calling operators.

Invariant: the results are what indexing and stacking would give; where that is not certain
(subclasses, gradients, other devices, odd indices) the answer is None, and the caller goes the long
way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from thunk.autograd.meta import requires_grad
from thunk.dispatch.state import state
from thunk.runtime.storage import array_of
from thunk.runtime.tensors import empty_tensor
from thunk.tensor.tensor import Tensor
from thunk.types.spec import make_spec


def is_plain(value: Any) -> bool:
    """Whether `value` is an ordinary tensor in memory that no gradient or mode is watching."""
    if type(value) is not Tensor or value._spec.device.type != "cpu" or requires_grad(value):
        return False
    return not (state.lazy or state.function_modes or state.dispatch_modes)


def rows_of(source: Any, indices: Sequence[int]) -> Any:
    """Rows `indices` of `source` as one tensor; None if single indexing must decide."""
    if not is_plain(source) or not source._spec.shape:
        return None
    try:
        chosen = numpy.array(indices)
    except ValueError:
        return None
    if chosen.dtype != numpy.int64 or chosen.ndim != 1 or not chosen.size:
        return None
    count = source._spec.shape[0]
    if chosen.min() < -count or chosen.max() >= count:
        return None
    result = empty_tensor(
        make_spec((len(chosen), *source._spec.shape[1:]), source._spec.dtype, source._spec.device)
    )
    if result._spec.numel:
        rows = array_of(source._storage, source._spec)
        # Bounds are checked above; any mode but the default lets NumPy write without a buffer.
        target = array_of(result._storage, result._spec)
        numpy.take(rows, chosen, axis=0, out=target, mode="wrap")
    return result


def stacked(batch: Sequence[Any]) -> Any:
    """`stack(batch)` for plain tensors of one shape and dtype; None for any others."""
    first = batch[0]
    if not is_plain(first):
        return None
    shape, dtype = first._spec.shape, first._spec.dtype
    for item in batch:
        if not is_plain(item) or item._spec.shape != shape or item._spec.dtype is not dtype:
            return None
    result = empty_tensor(make_spec((len(batch), *shape), dtype, first._spec.device))
    if result._spec.numel:
        target = array_of(result._storage, result._spec)
        for place, item in enumerate(batch):
            target[place] = array_of(item._storage, item._spec)
    return result
