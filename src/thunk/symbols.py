"""Enters: sizes. Leaves: the names of symbolic sizes; here every size is a number."""

from __future__ import annotations

from typing import Any


class SymInt:
    """A size that is not known yet: there are none."""


class SymFloat:
    """A number that is not known yet: there are none."""


class SymBool:
    """A condition that is not known yet: there are none."""


def sym_int(a: Any) -> int:
    """A number without its fraction."""
    return int(a)


def sym_float(a: Any) -> float:
    """A number as a float."""
    return float(a)


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers."""
    return max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers."""
    return min(a, b)


def sym_not(a: Any) -> bool:
    """Whether a condition fails."""
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """One of two values, by a condition."""
    return t if b else f


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    return sum(args)
