"""Enters: an einsum equation, or lists of subscripts. Leaves: one list of labels an operand.

Invariant: labels are ints; dimensions under an ellipsis get labels of their own, counted from the
right, so that operands with fewer of them broadcast.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch

ELLIPSIS = -1
LETTERS = string.ascii_uppercase + string.ascii_lowercase

Labels = list[int]


def read_equation(equation: str) -> tuple[list[Labels], Labels | None]:
    """The labels of each operand and of the result (None: implied), `ELLIPSIS` among them."""
    inputs, arrow, output = equation.partition("->")
    operands = [
        _read_term(term, equation, f"for operand {index}")
        for index, term in enumerate(inputs.split(","))
    ]
    return operands, _read_term(output, equation, "in the output") if arrow else None


def _read_term(term: str, equation: str, place: str) -> Labels:
    labels: Labels = []
    position = 0
    while position < len(term):
        letter = term[position]
        if term.startswith("...", position):
            if ELLIPSIS in labels:
                raise Mismatch(f"found '.' {place} for which an ellipsis was already found")
            labels.append(ELLIPSIS)
            position += 2
        elif letter == ".":
            raise Mismatch(f"found '.' {place} that is not part of any ellipsis")
        elif letter in LETTERS:
            labels.append(LETTERS.index(letter))
        elif letter != " ":
            raise Mismatch(
                f"invalid subscript given at index {equation.index(letter)} in the equation "
                "string, subscripts must be in [a-zA-Z]"
            )
        position += 1
    return labels


def read_sublists(operands: Sequence[Any]) -> tuple[list[Any], list[Labels], Labels | None]:
    """Tensors with their labels from `tensor, subscripts, ..., [result's subscripts]`."""
    output = _checked(operands[-1]) if len(operands) % 2 else None
    pairs = operands[:-1] if output is not None else operands
    tensors, labels = list(pairs[::2]), [_checked(each) for each in pairs[1::2]]
    return tensors, labels, output


def _checked(subscripts: Any) -> Labels:
    if not isinstance(subscripts, (list, tuple)):
        raise Mismatch(
            "expected tensors and their lists of subscripts in turn, got "
            f"{type(subscripts).__name__}", ValueError,
        )  # fmt: skip
    labels = []
    for each in subscripts:
        if each is Ellipsis:
            labels.append(ELLIPSIS)
        elif isinstance(each, int) and 0 <= each < len(LETTERS):
            labels.append(each)
        else:
            raise Mismatch(
                f"subscript in subscript list is not within the valid range [0, {len(LETTERS)}), "
                f"got {each!r}", ValueError,
            )  # fmt: skip
    return labels


def name_of(label: int) -> str:
    """How messages call a label."""
    return LETTERS[label] if label < len(LETTERS) else "..."


def spread_ellipses(
    operands: list[Labels], output: Labels | None, ndims: Sequence[int]
) -> tuple[list[Labels], Labels]:
    """Every `ELLIPSIS` replaced by labels, and the result's labels where they are implied."""
    covered = [ndim - len(labels) + 1 for labels, ndim in zip(operands, ndims, strict=True)]
    widest = max((c for c, each in zip(covered, operands, strict=True) if ELLIPSIS in each),
                 default=0)  # fmt: skip
    hidden = [len(LETTERS) + place for place in range(widest)]
    found = []
    for index, (labels, ndim, own) in enumerate(zip(operands, ndims, covered, strict=True)):
        _check_rank(index, labels, ndim)
        found.append(_replaced(labels, hidden[widest - own :]) if ELLIPSIS in labels else labels)
    if output is None:
        seen = [label for labels in found for label in labels]
        plain = sorted({each for each in seen if each < len(LETTERS) and seen.count(each) == 1})
        return found, hidden + plain
    result = _replaced(output, hidden)
    for label in result:
        if result.count(label) > 1:
            raise Mismatch(
                f"output subscript {name_of(label)} appears more than once in the output"
            )
        if not any(label in labels for labels in found):
            raise Mismatch(
                f"output subscript {name_of(label)} does not appear in the equation for any input "
                "operand"
            )
    return found, result


def _replaced(labels: Labels, hidden: Labels) -> Labels:
    return [part for each in labels for part in (hidden if each == ELLIPSIS else [each])]


def _check_rank(index: int, labels: Labels, ndim: int) -> None:
    has_ellipsis = ELLIPSIS in labels
    count = len(labels) - has_ellipsis
    if count > ndim or (count < ndim and not has_ellipsis):
        relation = "is more than" if has_ellipsis else "does not match"
        tail = "" if has_ellipsis else " and no ellipsis was given"
        raise Mismatch(
            f"the number of subscripts in the equation ({count}) {relation} the number of "
            f"dimensions ({ndim}) for operand {index}{tail}"
        )
