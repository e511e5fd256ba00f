"""Reductions: sums, products, extremes, statistics."""

from thunk.ops.reduce import (
    counting,
    covariance,
    exponentials,
    extremes,
    moments,
    norms,
    products,
    quantiles,
    selecting,
    sums,
    truth,
)

__all__ = [
    "counting", "covariance", "exponentials", "extremes", "moments", "norms", "products",
    "quantiles", "selecting", "sums", "truth",
]  # fmt: skip
