"""Operators that copy: clone, casts, fills and writes."""

from thunk.ops.copy import copying

__all__ = ["copying"]
