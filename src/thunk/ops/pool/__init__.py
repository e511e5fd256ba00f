"""Pooling: one element for each window of a picture, and the way back."""

from thunk.ops.pool import adaptive, average, fractional, largest, unpool

__all__ = ["adaptive", "average", "fractional", "largest", "unpool"]
