"""The NumPy rules of the special functions, one module a concept, imported here together."""

from thunk.backends.reference import (
    special_bessel,
    special_errors,
    special_gamma,
    special_incomplete,
    special_polynomials,
)

MODULES = (
    special_bessel,
    special_errors,
    special_gamma,
    special_incomplete,
    special_polynomials,
)
