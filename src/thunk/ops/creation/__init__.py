"""Operators that make tensors from sizes and numbers."""

from thunk.ops.creation import filled, matrices, ranges, windows

__all__ = ["filled", "matrices", "ranges", "windows"]
