"""Attention of queries to keys and values."""

from thunk.ops.attention import attention

__all__ = ["attention"]
