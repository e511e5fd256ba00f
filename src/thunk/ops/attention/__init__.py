"""Attention of queries to keys and values."""

from thunk.ops.attention import attention, blocks

__all__ = ["attention", "blocks"]
