"""Softmax and its logarithm."""

from thunk.ops.softmax import softmax

__all__ = ["softmax"]
