"""Enters: numbers among the arguments of a call. Leaves: keys that tell them apart exactly.

Invariant: two constants are equal if their types and bits are: 1, 1.0 and True differ, so do zeros
of different sign, and a NaN equals itself.
"""

from __future__ import annotations

import struct
from typing import Any


class Constant:
    """A number that is part of the key."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = (type(value), bits_of(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


def bits_of(value: Any) -> Any:
    """What equal bits have in common, of a number."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, complex):
        return struct.pack("<dd", value.real, value.imag)
    return value


def thaw_constant(value: Any) -> Any:
    """A frozen argument that holds no node, as the operator takes it."""
    if type(value) is Constant:
        return value.value
    if type(value) is tuple:
        return tuple([thaw_constant(each) for each in value])
    return value
