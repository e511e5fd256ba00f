"""Bad arguments of samplers: the message names the operator, what it expected and what it got."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from thunk.runtime import random
from thunk.runtime.random import Generator

Call = Callable[[Generator], Any]
SINGLE = numpy.float32
ONES = numpy.ones(3, SINGLE)

WRONG: list[tuple[Call, type[Exception], str]] = [
    (
        lambda g: random.uniform(g, (2,), SINGLE, 1, 0),
        RuntimeError,
        "uniform_: expected from <= to, got from=1 and to=0; swap the bounds",
    ),
    (
        lambda g: random.uniform(g, (2,), numpy.int64),
        NotImplementedError,
        "uniform_: expected one of the dtypes bfloat16, float16, float32, float64, got int64; ",
    ),
    (
        lambda g: random.normal(g, (2,), SINGLE, 0, -1),
        RuntimeError,
        "normal_: expected std >= 0, got -1; pass a standard deviation",
    ),
    (
        lambda g: random.exponential(g, (2,), SINGLE, 0),
        RuntimeError,
        "exponential_: expected lambda > 0, got 0; pass a positive rate",
    ),
    (
        lambda g: random.cauchy(g, (2,), numpy.int64),
        RuntimeError,
        "cauchy_: expected a floating-point dtype, got int64; sample in float32 or float64",
    ),
    (
        lambda g: random.randint(g, (2,), numpy.int64, 3, 3),
        RuntimeError,
        "random_: expected from < to, got from=3 and to=3; ",
    ),
    (
        lambda g: random.randint(g, (2,), numpy.uint8, 0, 257),
        RuntimeError,
        "random_: expected 'to - 1' within the range of uint8, got 256; ",
    ),
    (
        lambda g: random.bernoulli(g, (2,), SINGLE, 1.5),
        RuntimeError,
        "bernoulli_: expected 0 <= p <= 1, got 1.5; pass a probability",
    ),
    (
        lambda g: random.bernoulli_from(g, ONES * 2, SINGLE),
        RuntimeError,
        "bernoulli_: expected 0 <= p <= 1, got 2.0 at element 0; pass probabilities",
    ),
    (
        lambda g: random.geometric(g, (2,), SINGLE, 1.0),
        RuntimeError,
        "geometric_: expected 0 < p < 1, got 1.0; ",
    ),
    (
        lambda g: random.randperm(g, 3, numpy.bool_),
        NotImplementedError,
        "randperm: expected one of the dtypes bfloat16, float16, ",
    ),
    (
        lambda g: random.poisson(g, -ONES),
        RuntimeError,
        "poisson: expected rates >= 0, got -1.0; ",
    ),
    (
        lambda g: random.binomial(g, ONES, ONES.astype(numpy.float64)),
        RuntimeError,
        "binomial: expected prob of dtype float32, as count has, got float64; ",
    ),
    (
        lambda g: random.multinomial(g, ONES, 4),
        RuntimeError,
        "multinomial: expected num_samples <= 3 without replacement, got 4; ",
    ),
    (
        lambda g: random.multinomial(g, ONES * 0, 1),
        RuntimeError,
        "multinomial: expected finite weights >= 0 with a positive sum in each row, got a row ",
    ),
]


@pytest.mark.parametrize("call, error, message", WRONG, ids=[item[2][:30] for item in WRONG])
def test_bad_arguments(call: Call, error: type[Exception], message: str) -> None:
    generator = Generator()
    with pytest.raises(error, match="^" + re.escape(message)):
        call(generator)
    numpy.testing.assert_array_equal(generator.get_state(), Generator().get_state())
