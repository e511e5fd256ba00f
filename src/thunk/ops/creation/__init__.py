"""Operators that make tensors from sizes and numbers."""

from thunk.ops.creation import filled

__all__ = ["filled"]
