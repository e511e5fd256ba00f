"""Elements several times: repeat, tile, repeat_interleave."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.dtype import int32, int64
from thunk.types.spec import TensorSpec, make_spec


@composite(
    "repeat(Tensor self, SymInt[] repeats) -> Tensor", variants="method"
)
def repeat(self: Any, repeats: tuple[int, ...]) -> Any:
    """The whole tensor `repeats` times along each dimension."""
    ndim = self._spec.ndim
    if len(repeats) < ndim:
        raise Mismatch(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            f"tensor, got {len(repeats)} and {ndim}"
        )
    shape = (*[1] * (len(repeats) - ndim), *self._spec.shape)
    result = tuple([count * size for count, size in zip(repeats, shape, strict=True)])
    for count, size in zip(repeats, result, strict=True):
        if count < 0:
            raise Mismatch(f"Trying to create tensor with negative dimension {size}: {result}")
    apart, wide = [], []
    for count, size in zip(repeats, shape, strict=True):
        apart += [1, size]
        wide += [count, size]
    spread = self.view(apart).expand(wide)
    return t._reshape_copy(spread, result)


@composite("tile(Tensor self, SymInt[] dims) -> Tensor")
def tile(self: Any, dims: tuple[int, ...]) -> Any:
    """As `repeat`; missing repeats in front are one."""
    return self.repeat((*[1] * (self._spec.ndim - len(dims)), *dims))


def _places(repeats: TensorSpec, output_size: int | None) -> TensorSpec:
    if repeats.ndim != 1:
        raise Mismatch(f"repeat_interleave only accept 1D vector as repeat, got {repeats.ndim}D")
    if repeats.dtype not in (int32, int64):
        raise expected(
            "repeats of dtype int32 or int64", repr(repeats.dtype), "convert them with .long()",
            NotImplementedError,
        )  # fmt: skip
    return make_spec((output_size or 0,), repeats.dtype, repeats.device)


declare(
    "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
    doc="Every index as many times as `repeats` says.",
    spec=_places,
    vjp=NoGradient("the result is made of indices"),
    dynamic_shape=True,
    raises_on_data="repeats",
    variants="function out",
)


@composite(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor"
)
def repeat_interleave_tensor(self: Any, repeats: Any, dim: int | None, output_size: Any) -> Any:
    """Every slice along `dim` as many times as its own number in `repeats`."""
    if dim is None:
        self, dim = t.flatten(self), 0
    spec, counts = self._spec, repeats._spec
    place = wrap_dim(dim, spec.ndim)
    size = spec.shape[place] if spec.ndim else 1
    if counts.ndim == 0 or (counts.ndim == 1 and counts.shape[0] == 1):
        repeats = t.reshape(repeats, (1,)).expand((size,))
    elif counts.ndim == 1:
        if counts.shape[0] != size:
            raise Mismatch(
                "repeats must have the same size as input along dim, but got "
                f"repeats.size(0) = {counts.shape[0]} and input.size({place}) = {size}"
            )
    else:
        raise Mismatch("repeats must be 0-dim or 1-dim tensor")
    places = t.repeat_interleave(repeats, output_size=output_size)
    return t.index_select(self, place, places)


@composite(
    "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor"
)
def repeat_interleave_int(self: Any, repeats: int, dim: int | None, output_size: Any) -> Any:
    """Every slice along `dim` `repeats` times."""
    if dim is None:
        self, dim = t.flatten(self), 0
    if repeats < 0:
        raise Mismatch(f"Repeats must be non-negative, got {repeats}")
    if not self._spec.shape:
        self = t.unsqueeze(self, 0)
    shape = self._spec.shape
    place = wrap_dim(dim, len(shape))
    if output_size not in (None, repeats * shape[place]):
        raise Mismatch(
            f"allocated size does not match required size: expected output_size="
            f"{repeats * shape[place]}, got {output_size}"
        )
    after = (*shape[: place + 1], repeats, *shape[place + 1 :])
    spread = t.unsqueeze(self, place + 1).expand(after)
    result = (*shape[:place], repeats * shape[place], *shape[place + 1 :])
    return t._reshape_copy(spread, result)
