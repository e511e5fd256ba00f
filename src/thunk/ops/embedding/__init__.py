"""Rows of tables looked up by index, alone or in bags."""

from thunk.ops.embedding import bags, lookup

__all__ = ["bags", "lookup"]
