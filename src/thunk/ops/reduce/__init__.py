"""Reductions: sums, products, extremes, statistics."""

from thunk.ops.reduce import sums

__all__ = ["sums"]
