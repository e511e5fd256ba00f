"""The NumPy rules of the elementwise operators, one module a concept, imported here together."""

from thunk.backends.reference import (
    activation,
    activation_smooth,
    pointwise_arithmetic,
    pointwise_comparison,
    pointwise_complex,
    pointwise_exponential,
    pointwise_extremes,
    pointwise_powers,
    pointwise_rounding,
    special,
)

MODULES = (
    activation,
    activation_smooth,
    pointwise_arithmetic,
    pointwise_comparison,
    pointwise_complex,
    pointwise_exponential,
    pointwise_extremes,
    pointwise_powers,
    pointwise_rounding,
    special,
)
