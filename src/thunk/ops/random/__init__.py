"""Operators that draw from a random generator."""

from thunk.ops.random import counter, distributions, fills, new, outs, pathwise, permutations

__all__ = ["counter", "distributions", "fills", "new", "outs", "pathwise", "permutations"]
