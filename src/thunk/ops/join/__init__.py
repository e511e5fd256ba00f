"""Operators that join tensors: one after the other, as new dimensions, as blocks and grids."""

from thunk.ops.join import grids, joining

__all__ = ["grids", "joining"]
