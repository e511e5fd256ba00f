"""Sums of products written as an equation over named dimensions.

Enters: tensors and their labels. Leaves: pairwise products of batches of matrices.
Invariant: a label leaves an operand as soon as neither the result nor another operand has it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite
from thunk.ops.matmul.subscripts import (
    Labels,
    name_of,
    read_equation,
    read_sublists,
    spread_ellipses,
)
from thunk.ops.registry import t

Operand = tuple[Any, Labels]


@composite(
    "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    variants="function variadic",
)
def einsum(equation: str, tensors: Any, path: Any = None) -> Any:
    """The sum of products that an equation such as "ij,jk->ik" describes."""
    labels, output = read_equation(equation)
    if len(labels) != len(tensors):
        which = "fewer" if len(labels) > len(tensors) else "more"
        raise Mismatch(f"{which} operands were provided than specified in the equation")
    return _evaluate(list(tensors), labels, output, path)


@composite("einsum.sublist(Any[] operands) -> Tensor", variants="function variadic")
def einsum_sublist(operands: Any) -> Any:
    """The same, written as tensors and their lists of subscripts in turn."""
    tensors, labels, output = read_sublists(operands)
    return _evaluate(tensors, labels, output, None)


def _evaluate(tensors: list[Any], labels: list[Labels], output: Labels | None, path: Any) -> Any:
    labels, result = spread_ellipses(labels, output, [each._spec.ndim for each in tensors])
    sizes = _sizes(tensors, labels)
    operands = [
        _prepared(tensor, own, sizes) for tensor, own in zip(tensors, labels, strict=True)
    ]
    while len(operands) > 1:
        if path is not None and len(path) >= 2:
            first, second, path = path[0], path[1], path[2:]
        else:
            first, second = _cheapest_pair(operands, result, sizes)
        pair = operands[first], operands[second]
        rest = [each for at, each in enumerate(operands) if at not in (first, second)]
        kept = set(result).union(*[own for _, own in rest])
        operands = [*rest, _product(*pair, kept, sizes)]
    tensor, own = _summed(*operands[0], set(result))
    return t.permute(tensor, [own.index(label) for label in result])


def _sizes(tensors: list[Any], labels: list[Labels]) -> dict[int, int]:
    """The size of every label; a dimension of size one goes with any."""
    sizes: dict[int, int] = {}
    for index, (tensor, own) in enumerate(zip(tensors, labels, strict=True)):
        _check_repeated(index, own, tensor._spec.shape)
        for label, size in zip(own, tensor._spec.shape, strict=True):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise Mismatch(
                    f"subscript {name_of(label)} has size {size} for operand {index} which does "
                    f"not broadcast with previously seen size {known}"
                )
    return sizes


def _check_repeated(index: int, labels: Labels, shape: tuple[int, ...]) -> None:
    sizes: dict[int, int] = {}
    for label, size in zip(labels, shape, strict=True):
        known = sizes.setdefault(label, size)
        if known != size:
            raise Mismatch(
                f"subscript {name_of(label)} is repeated for operand {index} but the sizes don't "
                f"match, {size} != {known}"
            )


def _prepared(tensor: Any, labels: Labels, sizes: dict[int, int]) -> Operand:
    """Diagonals taken where a label repeats; dimensions that only broadcast dropped."""
    labels = list(labels)
    repeated = next((each for each in labels if labels.count(each) > 1), None)
    while repeated is not None:
        first = labels.index(repeated)
        second = labels.index(repeated, first + 1)
        tensor = t.diagonal(tensor, 0, first, second)
        labels = [each for at, each in enumerate(labels) if at not in (first, second)]
        labels.append(repeated)
        repeated = next((each for each in labels if labels.count(each) > 1), None)
    for label in list(labels):
        at = labels.index(label)
        if tensor._spec.shape[at] == 1 and sizes[label] != 1:
            tensor = t.squeeze(tensor, at)
            labels.pop(at)
    return tensor, labels


def _summed(tensor: Any, labels: Labels, kept: set[int]) -> Operand:
    gone = [at for at, label in enumerate(labels) if label not in kept]
    if gone:
        tensor = t.sum(tensor, gone, dtype=tensor._spec.dtype)
    return tensor, [label for label in labels if label in kept]


def _product(a: Operand, b: Operand, kept: set[int], sizes: dict[int, int]) -> Operand:
    """The product of two operands, summed over the labels that nobody else needs."""
    left, left_labels = _summed(*a, kept.union(b[1]))
    right, right_labels = _summed(*b, kept.union(a[1]))
    shared = [label for label in left_labels if label in right_labels]
    batch = [label for label in shared if label in kept]
    inner = [label for label in shared if label not in kept]
    rows = [label for label in left_labels if label not in shared]
    columns = [label for label in right_labels if label not in shared]
    first = _as_matrices(left, left_labels, (batch, rows, inner), sizes)
    second = _as_matrices(right, right_labels, (batch, inner, columns), sizes)
    found = batch + rows + columns
    return t.reshape(t.bmm(first, second), [sizes[label] for label in found]), found


def _as_matrices(
    tensor: Any, labels: Labels, groups: tuple[Labels, Labels, Labels], sizes: dict[int, int]
) -> Any:
    order = [labels.index(label) for group in groups for label in group]
    shape = [math.prod(sizes[label] for label in group) for group in groups]
    return t.reshape(t.permute(tensor, order), shape)


def _cheapest_pair(
    operands: Sequence[Operand], result: Labels, sizes: dict[int, int]
) -> tuple[int, int]:
    """The pair whose product grows memory least, the cheaper one among equals."""
    if len(operands) == 2:
        return 0, 1
    best: tuple[int, int, int, int] | None = None
    for first, second in itertools.combinations(range(len(operands)), 2):
        others = [own for at, (_, own) in enumerate(operands) if at not in (first, second)]
        kept = set(result).union(*others)
        a, b = operands[first][1], operands[second][1]
        union = set(a).union(b)
        made, cost = _count(union & kept, sizes), _count(union, sizes)
        growth = made - _count(a, sizes) - _count(b, sizes)
        option = (growth, cost, first, second)
        best = option if best is None else min(best, option)
    assert best is not None
    return best[2], best[3]


def _count(labels: Any, sizes: dict[int, int]) -> int:
    return math.prod(sizes[label] for label in labels)
