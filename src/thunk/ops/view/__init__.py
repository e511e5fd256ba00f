"""View operators: every one is a shape rule that describes a window into the same storage."""

from thunk.ops.view import (
    broadcasting,
    diagonals,
    ordering,
    reinterpret,
    reshaping,
    slicing,
    splitting,
    strided,
    unfolding,
)

from thunk.ops.view import copies  # after what it copies  # isort: skip

__all__ = [
    "broadcasting", "copies", "diagonals", "ordering", "reinterpret", "reshaping", "slicing",
    "splitting", "strided", "unfolding",
]  # fmt: skip
