"""Indexing with tensors, one a dimension: `index`, `index_put`, and what masks turn into."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.ops.rules.strides import elementwise_strides
from thunk.ops.rules.zeros import zeros_for
from thunk.ops.view.broadcasting import expand_spec
from thunk.ops.view.reshaping import view_strides
from thunk.types.dtype import bool_, int32, int64, uint8
from thunk.types.spec import TensorSpec

Indices = Sequence[Any]  # a tensor, or None for a dimension that stays whole


def is_mask(spec: TensorSpec) -> bool:
    """Whether an index of this dtype chooses by truth."""
    return spec.dtype is bool_ or spec.dtype is uint8


def expanded(self: TensorSpec, indices: Indices) -> list[Any]:
    """The indices with every mask replaced by the places where it is true."""
    found: list[Any] = []
    for index in indices:
        if index is None or not is_mask(index._spec):
            found.append(index)
            continue
        if index._spec.dtype is uint8:
            warnings.warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
                "instead",
                UserWarning,
                stacklevel=2,
            )
        _expect_mask_fits(self, index._spec, len(found))
        found.extend(t.unbind(t._nonzero_columns(index), 0))
    return found


def _expect_mask_fits(self: TensorSpec, mask: TensorSpec, place: int) -> None:
    for axis, size in enumerate(mask.shape):
        if place + axis >= self.ndim or self.shape[place + axis] != size:
            raise Mismatch(
                f"The shape of the mask {list(mask.shape)} at index {axis} does not match the "
                f"shape of the indexed tensor {list(self.shape)} at index {place + axis}",
                IndexError,
            )


def indexed_spec(self: TensorSpec, indices: Indices) -> TensorSpec:
    """The spec of `self[indices]`: the indices' common shape stands where they do, or in front."""
    if len(indices) > self.ndim:
        raise Mismatch(
            f"too many indices for tensor of dimension {self.ndim} (got {len(indices)})", IndexError
        )
    given = [place for place, index in enumerate(indices) if index is not None]
    if not given:
        return self.fresh()
    for place in given:
        if indices[place].dtype not in (int32, int64):
            raise Mismatch(
                "tensors used as indices must be long, int, byte or bool tensors, got "
                f"{indices[place].dtype!r}",
                IndexError,
            )
    shapes = [indices[place].shape for place in given]
    try:
        common = broadcast_shapes(shapes)
    except Mismatch:
        raise Mismatch(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(shape)) for shape in shapes),
            IndexError,
        ) from None
    _expect_elements(self, given, common)
    adjacent = given[-1] - given[0] + 1 == len(given)
    return _laid_out(self, [indices[place] for place in given], given, common, adjacent)


def _laid_out(
    self: TensorSpec, indices: list[TensorSpec], given: list[int], common: tuple[int, ...],
    adjacent: bool,
) -> TensorSpec:  # fmt: skip
    """The result's spec: it lies in memory as that of an elementwise operator on all of them."""
    rest = [place for place in range(self.ndim) if place not in given]
    front = given[0] if adjacent else 0
    before, after = rest[:front], rest[front:]
    shape = (
        *[self.shape[place] for place in before], *common, *[self.shape[place] for place in after]
    )  # fmt: skip
    strides = (
        *[self.strides[place] for place in before], *[0] * len(common),
        *[self.strides[place] for place in after],
    )  # fmt: skip
    operands = [TensorSpec(shape, self.dtype, strides)]
    for index in indices:
        shown = expand_spec(index, common, False)
        wide = (*[1] * len(before), *common, *[1] * len(after))
        operands.append(TensorSpec(wide, index.dtype, view_strides(shown, wide) or ()))
    return TensorSpec(shape, self.dtype, elementwise_strides(shape, operands), 0, self.device)


def _expect_elements(self: TensorSpec, given: list[int], common: tuple[int, ...]) -> None:
    if math.prod(common) and any(self.shape[place] == 0 for place in given):
        raise Mismatch("index is out of bounds for dimension with size 0", IndexError)


declare(
    "_index(Tensor self, Tensor?[] indices) -> Tensor",
    doc="`self[indices]` for integer indices; None keeps a dimension whole.",
    spec=indexed_spec,
    vjp={
        "self": lambda grad, self_spec, indices: t._index_put(
            zeros_for(grad, self_spec), indices, grad, True
        )
    },
    raises_on_data="indices",
    variants="",
)


def _index_put(self: TensorSpec, indices: Any, values: TensorSpec, accumulate: bool) -> TensorSpec:
    if self.dtype is not values.dtype:
        raise expected(
            "source and destination of one dtype",
            f"{self.dtype!r} for the destination and {values.dtype!r} for the source",
            "Index put requires the source and destination dtypes match; cast the values",
        )
    shape = indexed_spec(self, indices).shape
    lead = values.ndim - len(shape)
    pairs = zip(values.shape[max(lead, 0) :], shape[max(-lead, 0) :], strict=True)
    if any(size != 1 for size in values.shape[: max(lead, 0)]) or any(
        have not in (1, want) for have, want in pairs
    ):
        raise Mismatch(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}"
        )
    return self.fresh()


def _put_back_self(grad: Any, indices: Any, values_spec: TensorSpec, accumulate: bool) -> Any:
    if accumulate:
        return grad
    return t._index_put(grad, indices, zeros_for(grad, values_spec), False)


declare(
    "_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    doc="A copy of `self` with `values` set or added at integer indices.",
    spec=_index_put,
    vjp={
        "self": _put_back_self,
        "values": lambda grad, indices: t._index(grad, indices),
    },
    raises_on_data="indices",
    variants="",
)


@composite("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", variants="function out")
def index(self: Any, indices: Indices) -> Any:
    """`self[indices]`: integers or masks, None for a dimension that stays whole."""
    _expect_some(indices)
    return t._index(self, expanded(self._spec, indices))


def _expect_some(indices: Indices) -> None:
    if all(each is None for each in indices):
        raise Mismatch(
            "expected at least one index tensor, got none: at least one index must be provided",
            IndexError,
        )


@composite(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    variants="function method inplace out",
)
def index_put(self: Any, indices: Indices, values: Any, accumulate: bool) -> Any:
    """A copy of `self` with `values` set, or added, at `self[indices]`."""
    mask = None if accumulate else _only_mask(self._spec, indices)
    if mask is not None and values._spec.numel == 1:
        # One value at a mask needs no places, whose number only the data knows.
        return t.masked_fill(self, mask, t.reshape(values, ()))
    return t._index_put(self, expanded(self._spec, indices), values, accumulate)


def _only_mask(self: TensorSpec, indices: Indices) -> Any:
    """The mask, with as many dimensions as `self`, if the indices are one mask and nothing else."""
    given = [place for place, each in enumerate(indices) if each is not None]
    if len(given) != 1 or indices[given[0]]._spec.dtype is not bool_:
        return None
    mask = indices[given[0]]
    place, ndim = given[0], mask._spec.ndim
    if ndim == 0 or place + ndim > self.ndim:
        return None
    _expect_mask_fits(self, mask._spec, place)
    return t.reshape(mask, (*mask._spec.shape, *[1] * (self.ndim - place - ndim)))


@composite("_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", variants="")
def unsafe_index(self: Any, indices: Indices) -> Any:
    """`index`; the bounds are checked here too."""
    return t.index(self, indices)
