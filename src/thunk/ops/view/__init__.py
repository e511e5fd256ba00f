"""View operators: every one is a shape rule that describes a window into the same storage."""

from thunk.ops.view import reshaping, slicing, strided

__all__ = ["reshaping", "slicing", "strided"]
