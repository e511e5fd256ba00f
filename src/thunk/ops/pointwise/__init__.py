"""Elementwise operators: arithmetic, comparison, transcendental, special, activation."""

from thunk.ops.pointwise import (
    activation_gated,
    activation_linear,
    activation_smooth,
    arithmetic,
    bessel,
    comparison,
    complex_numbers,
    division,
    error_functions,
    exponential,
    extremes,
    gamma,
    logical,
    powers,
    predicates,
    rounding,
    sigmoids,
    signs,
    ternary,
    trigonometric,
)

__all__ = [
    "activation_gated", "activation_linear", "activation_smooth", "arithmetic", "bessel",
    "comparison", "complex_numbers", "division", "error_functions", "exponential", "extremes",
    "gamma", "logical", "powers", "predicates", "rounding", "sigmoids", "signs", "ternary",
    "trigonometric",
]  # fmt: skip
