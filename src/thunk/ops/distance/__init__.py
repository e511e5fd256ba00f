"""Distances and similarities of vectors."""

from thunk.ops.distance import matrices, pairs

__all__ = ["matrices", "pairs"]
