"""Linear and bilinear maps of the last dimension."""

from thunk.ops.linear import linear

__all__ = ["linear"]
