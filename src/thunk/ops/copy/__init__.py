"""Copies, casts and fills; and what changes the memory that a tensor looks at."""

from thunk.ops.copy import casting, copying, resizing

__all__ = ["casting", "copying", "resizing"]
