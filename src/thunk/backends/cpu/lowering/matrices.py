"""Enters: operands that are batches of matrices. Leaves: dense copies, and calls of own routines.

Invariant: a routine changes memory that this call made and nobody else reads; such memory is read
by `Stack.read`, never by what it was filled with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from thunk.backends.cpu.llvm.matrices import MOST_MATRICES, failed
from thunk.base.errors import LinAlgError
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, LibraryCall, Unsupported
from thunk.compiler.statement import Statement
from thunk.ir.graph import Value
from thunk.types import dtype as d
from thunk.types.dtype import dtype
from thunk.types.spec import contiguous_strides

LARGEST = 256  # rows or columns; LAPACK factors larger matrices faster, in blocks


def check_small(*values: Value) -> None:
    """Raise `Unsupported` unless all are batches of small matrices of one of two types."""
    for value in values:
        spec = value.spec
        if spec.dtype not in (d.float32, d.float64) or spec.dtype is not values[0].spec.dtype:
            raise Unsupported("matrices of other types")
        if max(spec.shape[-2:]) > LARGEST:
            raise Unsupported("large matrices")
        if prod(spec.shape[:-2]) > MOST_MATRICES:
            raise Unsupported("very many matrices")


@dataclass(frozen=True, slots=True)
class Stack:
    """Dense memory of a shape."""

    access: Access
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many matrices there are."""
        return prod(self.shape[:-2])

    @property
    def rows(self) -> int:
        return self.shape[-2]

    @property
    def columns(self) -> int:
        return self.shape[-1]

    @property
    def is_single(self) -> bool:
        return self.access.element is d.float32

    def turned(self) -> Access:
        """The transposes."""
        *batch, row, column = self.access.strides
        return self.access.over((*batch, column, row))

    def read(self, domain: Domain, access: Access | None = None) -> Expression:
        """Elements in loops over the shape; leading loops beyond it repeat them."""
        chosen = self.access if access is None else access
        extra = len(domain.sizes) - len(chosen.strides)
        return domain.terms.load(chosen.over((*[0] * extra, *chosen.strides)))


def stack(at: At, shape: Sequence[int], element: dtype) -> Stack:
    """New memory; a dimension of one has no step, so that it repeats."""
    sizes = tuple(shape)
    buffer = at.lower.temporary(element, prod(sizes))
    steps = zip(sizes, contiguous_strides(sizes), strict=True)
    return Stack(Access(buffer, element, tuple([step * (size > 1) for size, step in steps])), sizes)


def filled(
    at: At, shape: Sequence[int], element: dtype, term: Callable[[Domain], Expression]
) -> Stack:
    """New memory with the term's values."""
    found = stack(at, shape, element)
    domain = at.over(found.shape)
    domain.write(found.access, term(domain))
    return found


def copied(at: At, value: Value, batch: Sequence[int], turned: bool = False) -> Stack:
    """An operand's matrices, or their transposes, repeated along missing batch dimensions."""
    rows, columns = value.spec.shape[-2:]
    shape = (*batch, columns, rows) if turned else (*batch, rows, columns)
    return filled(at, shape, value.spec.dtype, lambda domain: matrices(domain, value, turned))


def matrices(domain: Domain, value: Value, turned: bool = False) -> Expression:
    """An operand's matrices in loops whose last two are their rows and columns."""
    spec = value.spec
    steps = [0 if size == 1 else step for size, step in zip(spec.shape, spec.strides, strict=True)]
    if turned:
        steps[-2:] = steps[:-3:-1]
    return domain.read_as(value, (*[0] * (len(domain.sizes) - len(steps)), *steps))


def call(
    at: At, function: int, operands: Sequence[Stack], changed: Sequence[Stack],
    failure: Callable[[int], BaseException] | None = None,
) -> None:  # fmt: skip
    """Call a routine on what it reads, and what it changes or makes."""
    reads, writes = ([each.access for each in stacks] for stacks in (operands, changed))
    filled = {each.target.buffer for each in at.lower.items if isinstance(each, Statement)}
    for each in at.lower.items:
        filled.update(() if isinstance(each, Statement) else each.writes)
    made = LibraryCall(
        at.node.op.name, reads, writes, function, 0, 0, None, at.node.where, 0, failure,
        [each for each in writes if each.buffer in filled],
    )  # fmt: skip
    at.lower.items.append(made)


def singular(message: str, batched: bool) -> Callable[[int], BaseException]:
    """What a routine's status raises; the message takes the matrix's number and the place."""

    def failure(status: int) -> BaseException:
        batch, number = failed(status)
        place = f"(Batch element {batch}): " if batched else ""
        return LinAlgError(message.format(place=place, number=number))

    return failure


def store(at: At, index: int, term: Callable[[Domain], Expression]) -> None:
    """Make the term result `index`, unless that is empty."""
    spec: Any = at.node.outputs[index].spec
    if spec is not None and spec.numel:
        domain = at.over(spec.shape)
        domain.store(term(domain), index)
