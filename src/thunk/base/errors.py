"""Enters: what an operator wanted and what it got. Leaves: one exception with PyTorch's type.

Invariant: every message reads `op: expected ..., got ...; how to fix`.
"""

from __future__ import annotations


class Mismatch(Exception):
    """A rule's complaint, before the operator's name is known.

    Shape rules do not know which operator they serve; the caller adds the name and raises
    `kind`, the exception type that PyTorch raises for the same mistake.
    """

    def __init__(self, message: str, kind: type[Exception] = RuntimeError) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind

    def named(self, name: str) -> Exception:
        """The exception to raise for the operator called `name`."""
        return self.kind(f"{name}: {self.message}")


def expected(
    want: str, got: object, fix: str = "", kind: type[Exception] = RuntimeError
) -> Mismatch:
    """A `Mismatch` in the standard wording."""
    tail = f"; {fix}" if fix else ""
    return Mismatch(f"expected {want}, got {got}{tail}", kind)


class NotDifferentiableError(RuntimeError):
    """Backward reached an operator that states why it has no gradient."""


class NoFormulaError(NotDifferentiableError, NotImplementedError):
    """Backward reached an input that has no gradient, of an operator that has others."""


class OutOfBudgetError(RuntimeError):
    """A bounded resource of the framework was exhausted."""


class LinAlgError(RuntimeError):
    """A matrix has no factorization, inverse or solution of the kind asked for."""


def out_of_bounds(name: str, index: object, dim: int, size: int, lowest: int) -> str:
    """What to say of an index that names no element."""
    return (
        f"{name}: index {index} is out of bounds for dimension {dim} with size {size}; "
        f"expected {lowest} to {size - 1}"
    )


def recorded_at(error: BaseException, where: str) -> None:
    """Let an error that surfaces late say which line of the user's recorded the operation."""
    if where and not where_recorded(error):
        error.__dict__["recorded_at"] = where
        error.add_note(f"recorded at {where}")


def where_recorded(error: BaseException | None) -> str:
    """The line that `recorded_at` noted; empty if there is none."""
    return "" if error is None else str(error.__dict__.get("recorded_at", ""))
