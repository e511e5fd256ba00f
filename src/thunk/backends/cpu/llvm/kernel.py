"""Enters: planned loops. Leaves: their canonical text, units of work, and what a call is given.

Invariant: the function is `void (ptr bases, ptr operands, i64 begin, i64 end)` over units of work;
it holds no address and no offset, so equal loops give equal text.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from thunk.backends.cpu.llvm.math.traced import name_and_edition
from thunk.compiler.access import Access
from thunk.compiler.expression import READING, Expression
from thunk.compiler.loops import Loops

BLOCK = 2048  # points of one unit where lanes move along a parallel loop
COLUMNS = 4  # vectors side by side where lanes move along a parallel loop of a reduction


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel's text leaves open, in the order of its operand table."""

    pointers: tuple[Access, ...]  # buffer and offset count
    numbers: tuple[int, ...]
    length: int  # of the only loop, where the text leaves it open; else -1
    units: int
    work: int


@dataclass(frozen=True, slots=True)
class Shape:
    """How loops are cut into units."""

    open_length: bool
    block: int  # elements of the vector loop in one unit
    blocks: int  # units along the vector loop
    outer: tuple[int, ...]  # the other parallel loops


def terms_of(loops: Loops) -> list[Expression]:
    """Every term of every pass, operands first."""
    roots = [value for _, value in loops.before]
    for each in loops.passes:
        roots += [reduction.value for reduction in each.reductions]
        roots += [value for _, value in each.stores]
        roots += [value for _, value in each.rows]
        for scatter in each.scatters:
            roots += [scatter.place, scatter.value]
    order: list[Expression] = []
    seen: set[Expression] = set()
    for root in roots:
        stack = [(root, False)]
        while stack:
            term, finished = stack.pop()
            if finished:
                order.append(term)
            elif term not in seen:
                seen.add(term)
                stack.append((term, True))
                stack += [(each, False) for each in reversed(term.args) if each not in seen]
    return order


def targets_of(loops: Loops) -> list[Access]:
    """Every place that is written, in order."""
    found = [access for access, _ in loops.before]
    for each in loops.passes:
        found += [access for access, _ in each.stores]
        found += [access for access, _ in each.rows]
        found += [scatter.target for scatter in each.scatters]
    return found


def shape_of(loops: Loops, width: int) -> Shape:
    """Units of work of the loops."""
    parallel = [each for each, cut in enumerate(loops.reduced) if not cut]
    vector = loops.vector
    if vector < 0 or loops.reduced[vector]:
        return Shape(False, 1, 1, tuple([loops.sizes[each] for each in parallel]))
    size = loops.sizes[vector]
    outer = tuple([loops.sizes[each] for each in parallel if each != vector])
    if any(loops.reduced):
        block = min(width * COLUMNS, -(-size // width) * width)
    else:
        block = size if size <= 4 * BLOCK and outer else BLOCK
    open_length = len(loops.sizes) == 1 and _open(loops)
    return Shape(open_length, block, -(-size // block), outer)


def _open(loops: Loops) -> bool:
    """Whether the one loop's length need not be known when the text is written."""
    for term in terms_of(loops):
        if term.op in READING and term.attribute.strides[0] not in (0, 1):
            return False
        if term.op == "place":
            return False
    plain = not any(each.scatters for each in loops.passes)
    return plain and all(access.strides[0] == 1 for access in targets_of(loops))


def signature_of(loops: Loops, width: int) -> Signature:
    """What the kernel of these loops is called with."""
    pointers: dict[Access, None] = {}
    numbers: dict[int, None] = {}
    cost = 0
    for term in terms_of(loops):
        if term.op in READING:
            pointers[pointer_of(term.attribute)] = None
        elif term.op == "number":
            numbers[term.attribute] = None
        cost += 1 + 12 * (term.op == "math")
    for access in targets_of(loops):
        pointers[pointer_of(access)] = None
    shape = shape_of(loops, width)
    length = loops.sizes[0] if shape.open_length else -1
    units = prod(shape.outer) * shape.blocks if targets_of(loops) else 0
    work = loops.points * max(1, cost // 6)
    return Signature(tuple(pointers), tuple(numbers), length, units, work)


def pointer_of(access: Access) -> Access:
    """The place an access starts from: one entry of the operand table."""
    return Access(access.buffer, access.element, (), access.offset)


def canonical(loops: Loops, width: int) -> str:
    """The loops as text that is equal for equal kernels, whatever their buffers are called."""
    signature = signature_of(loops, width)
    pointers = {access: index for index, access in enumerate(signature.pointers)}
    numbers = {number: index for index, number in enumerate(signature.numbers)}
    rows: dict[Access, int] = {}
    names: dict[Expression, str] = {}
    shape = shape_of(loops, width)
    sizes = "N" if shape.open_length else str(loops.sizes)
    lines = [f"width {width} sizes {sizes} reduced {loops.reduced} vector {loops.vector} "
             f"straight {loops.straight} block {shape.block}"]  # fmt: skip
    for index, access in enumerate(signature.pointers):
        lines.append(f"p{index} {access.element.name}")

    def spot(access: Access) -> str:
        return f"p{pointers[pointer_of(access)]}{access.strides}"

    for term in terms_of(loops):
        name = names[term] = f"t{len(names)}"
        if term.op in READING:
            attribute = spot(term.attribute)
        elif term.op == "number":
            attribute = str(numbers[term.attribute])
        elif term.op == "row":
            attribute = f"r{rows.setdefault(term.attribute, len(rows))}{term.attribute.strides}"
        elif term.op == "const":
            attribute = term.attribute[1]
        elif term.op == "math":
            attribute = name_and_edition(term.attribute)
        else:
            attribute = str(term.attribute)
        args = " ".join(names[each] for each in term.args)
        lines.append(f"{name} {term.dtype.name} {term.op} {attribute} {args}")
    for access, value in loops.before:
        lines.append(f"before {spot(access)} {names[value]}")
    for index, each in enumerate(loops.passes):
        lines.append(f"pass {index}")
        for reduction in each.reductions:
            row = rows.setdefault(reduction.row, len(rows))
            lines.append(f"reduce r{row} {reduction.combine} {names[reduction.value]}")
        for scatter in each.scatters:
            lines.append(
                f"scatter {spot(scatter.target)} {scatter.combine} {names[scatter.place]} "
                f"{names[scatter.value]}"
            )
        lines += [f"store {spot(access)} {names[value]}" for access, value in each.stores]
        lines += [f"row {spot(access)} {names[value]}" for access, value in each.rows]
    return "\n".join(lines) + "\n"
