"""Enters: batches of matrices. Leaves: parts of them that gradient formulas are written with.

Invariant: every function is made of differentiable operators, so formulas have gradients too.
"""

from __future__ import annotations

from typing import Any

from thunk.ops.registry import t


def skew(value: Any) -> Any:
    """`value` less its adjoint."""
    return value - value.mH


def diagonal(value: Any) -> Any:
    """The diagonals of a batch of matrices."""
    return t.diagonal(value, 0, -2, -1)


def with_diagonal(value: Any, replacement: Any) -> Any:
    """`value` with other diagonals."""
    return t.diagonal_scatter(value, replacement.to(value._spec.dtype), 0, -2, -1)


def unit_diagonal(value: Any) -> Any:
    """`value` with ones on the diagonals."""
    return with_diagonal(value, t.ones_like(diagonal(value)))


def identity_like(value: Any, size: int | None = None) -> Any:
    """The identity matrix beside `value`, of its last size unless told otherwise."""
    spec = value._spec
    return t.eye(spec.shape[-1] if size is None else size, dtype=spec.dtype, device=spec.device)


def total(parts: list[Any]) -> Any:
    """The sum of those parts that are not None; None if there is none."""
    found = None
    for part in parts:
        if part is not None:
            found = part if found is None else found + part
    return found


def lower_symmetric(value: Any) -> Any:
    """Half the lower triangle and its mirror image, as gradients of Cholesky factors need it."""
    return 0.5 * (t.tril(value) + t.tril(value, -1).mH)


def first_columns(value: Any, count: int) -> Any:
    return t.narrow(value, -1, 0, count)


def first_rows(value: Any, count: int) -> Any:
    return t.narrow(value, -2, 0, count)


def last_columns(value: Any, start: int) -> Any:
    return t.narrow(value, -1, start, value._spec.shape[-1] - start)


def last_rows(value: Any, start: int) -> Any:
    return t.narrow(value, -2, start, value._spec.shape[-2] - start)
