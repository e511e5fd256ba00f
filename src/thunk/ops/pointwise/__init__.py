"""Elementwise operators: arithmetic, comparison, transcendental, logical."""

from thunk.ops.pointwise import arithmetic

__all__ = ["arithmetic"]
