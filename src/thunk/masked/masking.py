"""Enters: a tensor and its mask. Leaves: the tensor with an identity where the mask is false.

Invariant: what is masked out has no influence on a result and gets a gradient of zero.
"""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim, wrap_dims
from thunk.types.dtype import INTEGRAL, bool_, dtype
from thunk.types.info import iinfo

_LARGEST = frozenset({"amax", "argmax", "logaddexp", "logsumexp"})
_SMALLEST = frozenset({"amin", "argmin"})


def dims_of(name: str, dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, in order; None and () mean all."""
    try:
        return tuple(sorted(wrap_dims(dim, ndim)))
    except Mismatch as mismatch:
        raise mismatch.named(f"masked.{name}") from None


def dim_of(name: str, dim: int, ndim: int) -> int:
    """One dimension, counted from the front."""
    try:
        return wrap_dim(dim, ndim)
    except Mismatch as mismatch:
        raise mismatch.named(f"masked.{name}") from None


def mask_for(input: Any, mask: Any) -> Any:
    """The mask as bool in the shape of `input`."""
    spec, shape = mask._spec, input._spec.shape
    if spec.ndim > len(shape):
        raise IndexError(
            f"masked: expected a mask of at most {len(shape)} dimensions, got {spec.ndim}"
        )
    if spec.shape != shape:
        mask = t.broadcast_to(mask, shape)
    return mask if spec.dtype is bool_ else t.ne(mask, 0)


def identity_of(name: str, element: dtype, order: Any = 2) -> Any:
    """The value that changes no result of the operator called `name`."""
    if name == "sum" or (name == "norm" and order != -math.inf):
        return 0
    if name == "prod":
        return 1
    if name == "median":
        return math.nan
    if element.is_floating_point or (element.is_complex and name == "logsumexp"):
        return -math.inf if name in _LARGEST else math.inf
    if element.category == INTEGRAL:
        limits = iinfo(element)
        if name in _LARGEST:
            return limits.min
        if name in _SMALLEST:
            return limits.max
    raise NotImplementedError(
        f"masked.{name}: expected a dtype with an identity, got {element!r}; convert the tensor"
    )


def masked_out(name: str, input: Any, mask: Any, order: Any = 2) -> Any:
    """`input` with the identity of `name` where it does not count."""
    if mask is None:
        return input
    value = identity_of(name, input._spec.dtype, order)
    return t.where(mask_for(input, mask), input, value)


def widened(dtype_given: dtype | None, element: dtype, wide: dtype) -> dtype:
    """The dtype asked for; else `wide` for bool and integers."""
    if dtype_given is not None:
        return dtype_given
    return wide if element.category <= INTEGRAL else element
