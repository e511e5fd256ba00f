"""Elements at indices along one dimension: gather, take_along_dim."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.index.checks import expect_integers, expect_long, nonempty
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes, wrap_dim
from thunk.ops.rules.zeros import zeros_for
from thunk.types.spec import TensorSpec


def expect_index_inside(self: TensorSpec, dim: int, index: TensorSpec, name: str) -> None:
    """Raise if the index reaches beyond `self` in another dimension than `dim`."""
    own, other = nonempty(self.shape), nonempty(index.shape)
    if len(own) != len(other):
        raise Mismatch(
            f"Index tensor must have the same number of dimensions as {name} tensor, got "
            f"{index.ndim} and {self.ndim}"
        )
    for axis, (size, reach) in enumerate(zip(own, other, strict=True)):
        if axis != dim and reach > size:
            raise Mismatch(
                f"Size does not match at dimension {axis} expected index {list(index.shape)} to be "
                f"no larger than {name} {list(self.shape)} apart from dimension {dim}"
            )


def _gather(self: TensorSpec, dim: int, index: TensorSpec, sparse_grad: bool) -> TensorSpec:
    place = wrap_dim(dim, self.ndim)
    if index.numel:
        expect_integers(index)
        expect_index_inside(self, place, index, "input")
    return self.with_shape(index.shape)


declare(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    doc="For every element of `index`, the element of `self` that it names along `dim`.",
    spec=_gather,
    vjp={
        "self": lambda grad, self_spec, dim, index: t.scatter_add(
            zeros_for(grad, self_spec), dim, index, grad
        )
    },
    raises_on_data="index",
    variants="function method out exact apart",
)


@composite(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    variants="function method out",
)
def take_along_dim(self: Any, indices: Any, dim: int | None) -> Any:
    """`gather` with the other dimensions broadcast; without `dim`, of the flattened tensors."""
    expect_long(indices._spec)
    if dim is None:
        return t.gather(t.flatten(self), 0, _from_front(t.flatten(indices), self._spec.numel))
    own, other = self._spec.shape, indices._spec.shape
    if len(own) != len(other):
        raise Mismatch(
            "input and indices should have the same number of dimensions, but got "
            f"{len(own)} dimensions for input, and {len(other)} dimensions for indices"
        )
    place = wrap_dim(dim, len(own))
    if not own:
        return t.gather(self, 0, _from_front(indices, 1))
    rest = broadcast_shapes(
        [(*own[:place], 1, *own[place + 1:]), (*other[:place], 1, *other[place + 1:])]
    )
    wide = self.expand((*rest[:place], own[place], *rest[place + 1:]))
    places = indices.expand((*rest[:place], other[place], *rest[place + 1:]))
    return t.gather(wide, place, _from_front(places, own[place]))


def _from_front(indices: Any, size: int) -> Any:
    """Negative indices counted from the front."""
    return t.where(indices < 0, indices + size, indices)
