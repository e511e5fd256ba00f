"""Products of several groups of rows, each with a matrix of its own, as in mixtures of experts.

Enters: two operands of two or three dimensions, and where the groups of a flat one end. Leaves: the
products of the groups, laid out as the operands are. Invariant: what lies behind the last end is
zero in the result.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from thunk.ops import families
from thunk.ops.registry import t
from thunk.types.dtype import int32

__all__ = ["grouped_mm"]

DECLARED = families.FAMILIES


def grouped_mm(
    mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    """One product a group; `offs` says where each group of a flat operand ends."""
    ranks = (mat_a.dim(), mat_b.dim())
    _check(ranks, mat_a, mat_b, offs, bias, out_dtype)
    if ranks == (3, 3):
        return t.bmm(mat_a, mat_b)
    ends = [0, *[int(each) for each in offs.tolist()]]
    if ranks == (2, 3):
        parts = [t.mm(mat_a[start:end], mat_b[place]) for place, start, end in _groups(ends)]
        return _filled(parts, mat_a.shape[0], 0)
    if ranks == (3, 2):
        parts = [t.mm(mat_a[place], mat_b[:, start:end]) for place, start, end in _groups(ends)]
        return _filled(parts, mat_b.shape[1], 1)
    return t.stack([t.mm(mat_a[:, start:end], mat_b[start:end]) for _, start, end in _groups(ends)])


def _groups(ends: list[int]) -> list[tuple[int, int, int]]:
    return [(place, start, end) for place, (start, end) in enumerate(pairwise(ends))]


def _filled(parts: list[Any], size: int, dim: int) -> Any:
    """The parts one after the other, with zeros up to `size`."""
    joined = t.cat(parts, dim)
    missing = size - joined.shape[dim]
    if not missing:
        return joined
    shape = [missing if place == dim else each for place, each in enumerate(joined.shape)]
    return t.cat([joined, t.zeros(shape, dtype=joined.dtype, device=joined.device)], dim)


def _check(
    ranks: tuple[int, int], mat_a: Any, mat_b: Any, offs: Any, bias: Any, out_dtype: Any
) -> None:
    if not set(ranks) <= {2, 3}:
        raise RuntimeError(f"grouped_mm: expected operands of 2 or 3 dimensions, got {ranks}")
    if (offs is None) != (ranks == (3, 3)):
        raise RuntimeError(
            "grouped_mm: expected offs if an operand has 2 dimensions and none otherwise, got "
            f"operands of {ranks} dimensions and offs={offs}"
        )
    if offs is not None and (offs.dim() != 1 or offs.dtype is not int32):
        raise RuntimeError(
            f"grouped_mm: expected offs of dtype int32 and 1 dimension, got {offs.dtype} and "
            f"{offs.dim()}; use .to(torch.int32)"
        )
    counts = {each.shape[0] for each in (mat_a, mat_b) if each.dim() == 3}
    counts |= set() if offs is None else {offs.shape[0]}
    if len(counts) > 1:
        raise RuntimeError(f"grouped_mm: expected one number of groups, got {sorted(counts)}")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(
            f"grouped_mm: expected contracted sizes that agree, got {mat_a.shape[-1]} and "
            f"{mat_b.shape[-2]}"
        )
    if bias is not None:
        raise RuntimeError("grouped_mm: expected no bias, got one; add it to the result")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise RuntimeError(
            f"grouped_mm: expected out_dtype to be that of mat_a, {mat_a.dtype}, got {out_dtype}"
        )
