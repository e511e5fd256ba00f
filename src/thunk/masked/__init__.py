"""Operators that skip masked-out elements, under PyTorch's names: `thunk.masked.mean(x, mask=m)`.

A mask is true where an element counts. Results are plain tensors; where nothing counts they hold
the operator's identity, or NaN if it has none.
"""

from thunk.masked.elementwise import log_softmax, logaddexp, normalize, softmax, softmin
from thunk.masked.reductions import amax, amin, argmax, argmin, logsumexp, norm, prod, sum
from thunk.masked.scans import cumprod, cumsum
from thunk.masked.statistics import mean, median, std, var

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var",
]  # fmt: skip
