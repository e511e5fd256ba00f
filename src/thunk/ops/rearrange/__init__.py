"""Operators that put elements elsewhere: repeated, rolled, flipped, masked to triangles, padded."""

from thunk.ops.rearrange import flipping, padding, repeating, triangles

__all__ = ["flipping", "padding", "repeating", "triangles"]
