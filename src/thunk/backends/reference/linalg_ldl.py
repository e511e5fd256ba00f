"""NumPy rules of the LDL factorization with Bunch-Kaufman pivoting.

Enters: arrays of symmetric (or self-adjoint) matrices, of which the lower triangle is read.
Leaves: L below D in one matrix, and LAPACK's pivots: negative in pairs for blocks of two.
Invariant: matrices take different pivots, so they are factored one by one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.linalg_arrays import raise_first, stacked

_GROWTH = (1 + math.sqrt(17)) / 8  # balances the growth of elements of both kinds of steps


@rule("linalg_ldl_factor_ex")
def linalg_ldl_factor_ex(specs: Any, self: Any, hermitian: bool, check_errors: bool) -> Any:
    hermitian = hermitian and self.dtype.kind == "c"
    matrices = stacked(self)
    pivots = numpy.zeros(matrices.shape[:-1], numpy.int32)
    info = numpy.zeros(len(matrices), numpy.int32)
    factors = numpy.empty_like(matrices)
    for index, matrix in enumerate(matrices):
        factors[index], info[index] = _factor(matrix, pivots[index], hermitian)
    info = info.reshape(self.shape[:-2])
    if check_errors:
        raise_first(info, "linalg.ldl_factor: {place}the diagonal block {number} is singular.")
    return factors.reshape(self.shape), pivots.reshape(self.shape[:-1]), info


def _mirrored(matrix: Any, hermitian: bool) -> Any:
    """The whole matrix from its lower triangle."""
    lower = numpy.tril(matrix, -1)
    head = numpy.diagonal(matrix)
    whole = lower + (numpy.conj(lower.T) if hermitian else lower.T)
    return whole + numpy.diag(head.real.astype(head.dtype) if hermitian else head)


def _factor(matrix: Any, pivots: Any, hermitian: bool) -> tuple[Any, int]:
    rest = _mirrored(matrix, hermitian)
    size, info, step = len(rest), 0, 0
    while step < size:
        width, place = _choose(rest, step)
        if width == 0:
            info = info or step + 1
            pivots[step] = step + 1
            step += 1
            continue
        last = step + width - 1
        if place != last:
            part = rest[step:, step:]
            swap, back = [last - step, place - step], [place - step, last - step]
            part[swap] = part[back]
            part[:, swap] = part[:, back]
        pivots[step : step + width] = place + 1 if width == 1 else -(place + 1)
        stop = step + width
        if stop < size:
            block = rest[step:stop, step:stop]
            column = numpy.linalg.solve(block.T, rest[stop:, step:stop].T).T
            rest[stop:, stop:] -= column @ rest[step:stop, stop:]
            rest[stop:, step:stop] = column
        step = stop
    return numpy.tril(rest), info


def _choose(rest: Any, step: int) -> tuple[int, int]:
    """The width of the next block (0: nothing to divide by) and the row to swap into it."""
    head = abs(rest[step, step])
    below = numpy.abs(rest[step + 1 :, step].real) + numpy.abs(rest[step + 1 :, step].imag)
    largest = below.max() if below.size else 0.0
    if max(head, largest) == 0 or math.isnan(head):
        return 0, step
    if head >= _GROWTH * largest:
        return 1, step
    place = step + 1 + int(below.argmax())
    row = numpy.abs(rest[place, step:].real) + numpy.abs(rest[place, step:].imag)
    row[place - step] = 0
    across = row.max()
    if head >= _GROWTH * largest * (largest / across):
        return 1, step
    if abs(rest[place, place]) >= _GROWTH * across:
        return 1, place
    return 2, place


@rule("linalg_ldl_solve")
def linalg_ldl_solve(spec: Any, LD: Any, pivots: Any, B: Any, hermitian: bool) -> Any:
    hermitian = hermitian and LD.dtype.kind == "c"
    size = LD.shape[-1]
    batch = spec.shape[:-2]
    factors = stacked(numpy.broadcast_to(LD, (*batch, size, size)))
    swaps = numpy.broadcast_to(pivots, (*batch, size)).reshape(len(factors), size)
    result = stacked(numpy.broadcast_to(B, (*batch, *B.shape[-2:])))
    for factor, swap, right in zip(factors, swaps, result, strict=True):
        _solve(factor, swap, right, hermitian)
    return result.reshape(spec.shape)


def _blocks(pivots: Any) -> list[tuple[int, int]]:
    """Where each diagonal block starts and stops."""
    found, step = [], 0
    while step < len(pivots):
        stop = step + (1 if pivots[step] > 0 else 2)
        found.append((step, stop))
        step = stop
    return found


def _solve(factor: Any, pivots: Any, right: Any, hermitian: bool) -> None:
    """Solve in place: down through L and D, up through the transpose of L."""
    blocks = _blocks(pivots)
    whole = _mirrored(factor, hermitian)
    for start, stop in blocks:
        place = abs(int(pivots[start])) - 1
        right[[stop - 1, place]] = right[[place, stop - 1]]
        right[stop:] -= factor[stop:, start:stop] @ right[start:stop]
        right[start:stop] = numpy.linalg.solve(whole[start:stop, start:stop], right[start:stop])
    for start, stop in reversed(blocks):
        column = factor[stop:, start:stop].T
        right[start:stop] -= (numpy.conj(column) if hermitian else column) @ right[stop:]
        place = abs(int(pivots[start])) - 1
        right[[stop - 1, place]] = right[[place, stop - 1]]
