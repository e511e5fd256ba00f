"""Enters: arguments that are one value or one a dimension. Leaves: one a dimension."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def spread(value: Any, count: int) -> tuple[Any, ...]:
    """`value` repeated `count` times, unless it is a collection already."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def single(value: Any) -> tuple[Any, ...]:
    """One value."""
    return spread(value, 1)


def pair(value: Any) -> tuple[Any, ...]:
    """Height and width."""
    return spread(value, 2)


def triple(value: Any) -> tuple[Any, ...]:
    """Depth, height and width."""
    return spread(value, 3)
