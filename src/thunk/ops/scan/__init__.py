"""Scans: running sums, products and extremes; differences and integrals along a dimension."""

from thunk.ops.scan import differences, extremes, integrals, logarithms, recurrence, sums

__all__ = ["differences", "extremes", "integrals", "logarithms", "recurrence", "sums"]
