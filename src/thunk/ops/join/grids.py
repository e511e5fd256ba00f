"""Tensors made of all combinations of others: grids, products, blocks on a diagonal."""

from __future__ import annotations

import itertools
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite
from thunk.ops.join.joining import expect_some
from thunk.ops.registry import t
from thunk.types.dtype import int64


@composite("meshgrid(Tensor[] tensors) -> Tensor[]", variants="function variadic")
def meshgrid(tensors: Any) -> Any:
    """Vectors expanded to the grid of all their combinations, in the order of a matrix."""
    return _grid(tensors)


@composite(
    "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
    variants="function variadic",
)
def meshgrid_indexing(tensors: Any, indexing: str) -> Any:
    """As `meshgrid`; "xy" counts the first two vectors as columns and rows."""
    if indexing not in ("ij", "xy"):
        raise Mismatch(f'indexing must be one of "xy" or "ij", but received: {indexing}')
    if indexing == "ij" or len(tensors) < 2:
        return _grid(tensors)
    grids = _grid((tensors[1], tensors[0], *tensors[2:]))
    swapped = [t.transpose(grid, 0, 1) for grid in (grids[1], grids[0], *grids[2:])]
    return tuple([t.transpose(grid, 0, 1) for grid in swapped])


def _grid(tensors: Any) -> tuple[Any, ...]:
    expect_some(tensors, "meshgrid")
    first = tensors[0]._spec
    for tensor in tensors:
        if tensor._spec.ndim > 1:
            raise Mismatch(
                "Expected 0D or 1D tensor in the tensor list but got: a tensor with "
                f"{tensor._spec.ndim} dimensions"
            )
        if tensor._spec.dtype is not first.dtype:
            raise Mismatch("meshgrid expects all tensors to have the same dtype")
    shape = [tensor._spec.numel for tensor in tensors]
    found = []
    for place, tensor in enumerate(tensors):
        ones = [1] * len(shape)
        ones[place] = shape[place]
        found.append(t.reshape(tensor, ones).expand(shape))
    return tuple(found)


@composite("cartesian_prod(Tensor[] tensors) -> Tensor", variants="function variadic")
def cartesian_prod(tensors: Any) -> Any:
    """All combinations of the elements of vectors, a row each."""
    for tensor in tensors:
        if tensor._spec.ndim != 1:
            raise Mismatch(
                f"Expect a 1D vector, but got shape {list(tensor._spec.shape)}; flatten it"
            )
    if len(tensors) == 1:
        return tensors[0]
    return t.stack([t.flatten(grid) for grid in _grid(tensors)], 1)


@composite(
    "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    variants="function",
)
def combinations(self: Any, r: int, with_replacement: bool) -> Any:
    """All subsets of `r` elements of a vector, in order, a row each."""
    spec = self._spec
    if spec.ndim != 1:
        raise Mismatch(f"Expect a 1D vector, but got shape {list(spec.shape)}")
    if r < 0:
        raise Mismatch(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return t.zeros((0,), dtype=spec.dtype, device=spec.device)
    places = _grid((t.arange(spec.numel, dtype=int64, device=spec.device),) * r)
    precedes = t.le if with_replacement else t.lt
    chosen = t.full(places[0]._spec.shape, True, device=spec.device)
    for one, next_one in itertools.pairwise(places):
        chosen = t.logical_and(chosen, precedes(one, next_one))
    return t.stack([t.masked_select(grid, chosen) for grid in _grid((self,) * r)], 1)


@composite("block_diag(Tensor[] tensors) -> Tensor", variants="function variadic")
def block_diag(tensors: Any) -> Any:
    """Matrices along the diagonal of one that is zero elsewhere."""
    blocks = [_as_matrix(tensor, position) for position, tensor in enumerate(tensors)]
    if not blocks:
        return t.zeros((1, 0))
    total = sum(block._spec.shape[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        _, columns = block._spec.shape
        rows.append(t.constant_pad_nd(block, (before, total - before - columns), 0))
        before += columns
    return t.cat(rows, 0)


def _as_matrix(tensor: Any, position: int) -> Any:
    ndim = tensor._spec.ndim
    if ndim > 2:
        raise Mismatch(
            f"Input tensors must have 2 or fewer dimensions. Input {position} has {ndim} dimensions"
        )
    return t.atleast_2d(tensor)
