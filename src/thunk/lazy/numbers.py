"""Enters: numbers of a walk that a formula reads. Leaves: the same, watched for what becomes of it.

While a backward pass is being remembered, formulas get its walk's numbers as `Traced` ones. One
that is handed on to an operator as it is stays an input of later runs; one that is computed with,
or compared, makes its value part of what is remembered. Invariant: a number is never frozen
unnoticed.
"""

from __future__ import annotations

import threading
from typing import Any


class _Watch(threading.local):
    def __init__(self) -> None:
        self.read: dict[int, Any] | None = None  # None: nobody remembers


watch = _Watch()


class TracedFloat(float):
    """A float that knows which number of the walk it is."""

    __slots__ = ("index",)
    index: int


class TracedInt(int):
    """An int that knows which number of the walk it is."""

    index: int


def traced(value: Any, index: int) -> Any:
    """Number `index` of the walk, watched if somebody remembers what is done with it."""
    if watch.read is None:
        return value
    kind = type(value)
    if kind is float:
        made: Any = TracedFloat(value)
    elif kind is int:
        made = TracedInt(value)
    else:
        watch.read[index] = value
        return value
    made.index = index
    return made


def plain_number(value: Any) -> Any:
    """The number itself, which from here on is part of a key."""
    if isinstance(value, TracedFloat):
        return original_value(float, value)
    if isinstance(value, TracedInt):
        return original_value(int, value)
    return value


def plain_kind(value: Any) -> type:
    """The type that Python users gave the number."""
    return float if isinstance(value, float) else int


_READING = (
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__",
    "__rtruediv__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__divmod__",
    "__rdivmod__", "__pow__", "__rpow__", "__neg__", "__pos__", "__abs__", "__bool__", "__eq__",
    "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__float__", "__int__", "__trunc__",
    "__round__", "__floor__", "__ceil__", "__hash__", "__repr__", "__str__", "__format__",
    "__lshift__", "__rshift__", "__and__", "__or__", "__xor__", "__invert__", "__index__",
    "is_integer", "as_integer_ratio", "hex", "conjugate",
)  # fmt: skip


def _reading(base: type, name: str) -> Any:
    original = getattr(base, name)

    def method(self: Any, *args: Any) -> Any:
        if watch.read is not None:
            watch.read[self.index] = original_value(base, self)
        return original(self, *args)

    method.__name__ = name
    return method


def original_value(base: type, value: Any) -> Any:
    """The plain number, without asking its own methods."""
    attribute: Any = base.__dict__["real"]
    return attribute.__get__(value)


for _kind, _base in ((TracedFloat, float), (TracedInt, int)):
    for _name in _READING:
        if hasattr(_base, _name):
            setattr(_kind, _name, _reading(_base, _name))
