"""What training minimises."""

from thunk.ops.loss import ctc, distances, entropy, likelihood, margins, multiclass

__all__ = ["ctc", "distances", "entropy", "likelihood", "margins", "multiclass"]
