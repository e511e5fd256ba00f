"""Operators that draw from a random generator."""

from thunk.ops.random import distributions, fills, new, outs, pathwise, permutations

__all__ = ["distributions", "fills", "new", "outs", "pathwise", "permutations"]
