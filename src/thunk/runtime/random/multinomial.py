"""The multinomial distribution: a generator and rows of weights enter, rows of categories leave.

Invariant: the samples have PyTorch's bits and the generator ends in PyTorch's state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thunk.runtime.random.checks import REAL, bad_argument, working_dtype
from thunk.runtime.random.continuous import exponential
from thunk.runtime.random.generator import Generator
from thunk.runtime.random.selection import largest_in_order
from thunk.runtime.random.uniforms import standard_uniform_double

Int64Array = npt.NDArray[np.int64]

_MOST_CATEGORIES = 2**24


def multinomial(
    generator: Generator, weights: npt.NDArray[Any], samples: int, replacement: bool = False
) -> Int64Array:
    """`multinomial(weights, num_samples, replacement)`, for one or two dimensions."""
    _check_arguments(weights, samples, replacement)
    rows = np.atleast_2d(weights)
    shape = (*weights.shape[:-1], samples)
    if rows.shape[0] == 0:
        return np.empty(shape, np.int64)
    if rows.shape[1] == 0:
        raise _bad_weights("rows without categories")
    if replacement and samples > 1:
        return _with_replacement(generator, rows, samples).reshape(shape)
    return _without_replacement(generator, rows, samples).reshape(shape)


def _check_arguments(weights: npt.NDArray[Any], samples: int, replacement: bool) -> None:
    if weights.ndim not in (1, 2):
        raise bad_argument(
            "multinomial", "weights of 1 or 2 dimensions", weights.ndim, "reshape them"
        )
    if weights.dtype not in REAL:
        raise bad_argument(
            "multinomial", "floating-point weights", weights.dtype.name, "convert them"
        )
    if samples <= 0:
        raise bad_argument("multinomial", "num_samples > 0", samples, "ask for a sample or more")
    categories = weights.shape[-1]
    if not replacement and samples > categories:
        raise bad_argument(
            "multinomial",
            f"num_samples <= {categories} without replacement",
            samples,
            "pass replacement=True or ask for fewer",
        )
    if categories > _MOST_CATEGORIES:
        raise bad_argument(
            "multinomial", f"at most {_MOST_CATEGORIES} categories", categories, "group them"
        )


def _bad_weights(got: str) -> RuntimeError:
    return bad_argument(
        "multinomial",
        "finite weights >= 0 with a positive sum in each row",
        got,
        "clamp the weights or mask the row",
    )


def _without_replacement(generator: Generator, rows: npt.NDArray[Any], samples: int) -> Int64Array:
    """Divide the weights by exponential samples and take the largest quotients."""
    with np.errstate(all="ignore"):
        wide = rows.astype(working_dtype(rows.dtype))
        if not ((wide >= 0) & (wide < np.inf)).all():
            raise _bad_weights("an infinite, NaN or negative one")
        if (wide.sum(axis=1) == 0).any():
            raise _bad_weights("a row whose sum is 0")
        quotients = rows / exponential(generator, rows.shape, rows.dtype)
    keys = quotients.astype(wide.dtype)
    return np.stack([largest_in_order(row, samples) for row in keys])


def _with_replacement(generator: Generator, rows: npt.NDArray[Any], samples: int) -> Int64Array:
    """Look uniform samples up in each row's cumulative distribution."""
    result = np.empty((rows.shape[0], samples), np.int64)
    with generator.lock, np.errstate(all="ignore"):
        for index, row in enumerate(rows.astype(working_dtype(rows.dtype))):
            if not ((row >= 0) & (row < np.inf)).all():
                raise _bad_weights("an infinite, NaN or negative one")
            cumulative = np.add.accumulate(row)
            if not cumulative[-1] > 0:
                raise _bad_weights("a row whose sum is 0")
            cumulative /= cumulative[-1]
            cumulative[-1] = 1
            uniforms = standard_uniform_double(generator, samples)
            result[index] = np.searchsorted(cumulative.astype(np.float64), uniforms, side="left")
    return result
