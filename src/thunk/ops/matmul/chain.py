"""Products of several matrices, multiplied in the cheapest order.

Enters: matrices in a row, the ends perhaps vectors. Leaves: their product.
Invariant: the order is chosen from shapes alone, by dynamic programming over all bracketings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite
from thunk.ops.registry import t

_Splits = dict[tuple[int, int], int]


def _cheapest_splits(sizes: Sequence[int]) -> _Splits:
    """Where to split the product of matrices first..last; matrix i is sizes[i] x sizes[i + 1]."""
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    splits: _Splits = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            outside = sizes[first] * sizes[last + 1]
            options = [
                (costs[first, at] + costs[at + 1, last] + outside * sizes[at + 1], at)
                for at in range(first, last)
            ]
            costs[first, last], splits[first, last] = min(options)
    return splits


def _product(tensors: Sequence[Any], splits: _Splits, first: int, last: int) -> Any:
    if first == last:
        return tensors[first]
    at = splits[first, last]
    left = _product(tensors, splits, first, at)
    return t.mm(left, _product(tensors, splits, at + 1, last))


def _check_matrices(tensors: Sequence[Any]) -> None:
    first = tensors[0]._spec
    for index, each in enumerate(tensors):
        if index not in (0, len(tensors) - 1) and each._spec.ndim != 2:
            raise Mismatch(f"tensor {index} must be 2D but got {each._spec.ndim}D")
        if each._spec.dtype is not first.dtype:
            raise Mismatch(
                "all tensors must have be the same dtype, but tensor 0 is "
                f"{first.dtype!r} and tensor {index} {each._spec.dtype!r}"
            )


@composite("linalg_multi_dot(Tensor[] tensors) -> Tensor", variants="function out", module="linalg")
def linalg_multi_dot(tensors: Any) -> Any:
    """The product of two or more matrices in the cheapest order; the ends may be vectors."""
    if len(tensors) < 2:
        raise Mismatch(f"expected at least 2 tensors but got {len(tensors)}")
    _check_matrices(tensors)
    factors = list(tensors)
    gone = []
    for place, name, added in ((0, "first", 0), (-1, "last", 1)):
        ndim = factors[place]._spec.ndim
        if ndim not in (1, 2):
            raise Mismatch(f"the {name} tensor must be 1D or 2D but got {ndim}D")
        if ndim == 1:
            factors[place] = t.unsqueeze(factors[place], added)
            gone.append(-2 if place == 0 else -1)
    sizes = [factors[0]._spec.shape[0]]
    for index, each in enumerate(factors):
        if index and factors[index - 1]._spec.shape[1] != each._spec.shape[0]:
            raise Mismatch(
                f"tensors {index - 1} and {index} with shapes "
                f"{list(factors[index - 1]._spec.shape)} and {list(each._spec.shape)} cannot be "
                "multiplied"
            )
        sizes.append(each._spec.shape[1])
    product = _product(factors, _cheapest_splits(sizes), 0, len(factors) - 1)
    for dim in gone:
        product = t.squeeze(product, dim)
    return product


@composite("chain_matmul(Tensor[] matrices) -> Tensor", variants="function variadic out")
def chain_matmul(matrices: Any) -> Any:
    """The product of matrices in the cheapest order."""
    for each in matrices:
        if each._spec.ndim != 2:
            raise Mismatch(f"Expected 2-D matrices, but got a {each._spec.ndim}-D tensor")
    if not matrices:
        raise Mismatch("expected at least one matrix, got none")
    return matrices[0] if len(matrices) == 1 else t.linalg_multi_dot(matrices)
