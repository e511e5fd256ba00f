"""Integers, discrete and rejection samplers against PyTorch's, bit for bit, errors included."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest
import torch
from tests.torch.random_pairs import (
    COMPLEX,
    COUNTABLE,
    LARGE,
    REAL,
    SHAPES,
    WIDE_UNSIGNED,
    as_array,
    assert_same,
    assert_same_failure,
    needs_vectors,
    numpy_dtype,
    torch_dtype,
)

from thunk.runtime import random

pytestmark = needs_vectors

ALL = (*COUNTABLE, *WIDE_UNSIGNED, *REAL, *COMPLEX)
NAN = float("nan")


def assert_same_outcome(theirs: Any, ours: Any) -> None:
    """The same array, or the same type of exception."""
    try:
        theirs(torch.Generator())
    except Exception:
        assert_same_failure(theirs, ours)
    else:
        assert_same(theirs, ours)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """Both libraries warn about integers that a float cannot hold; a test below checks ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# --- integers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL)
def test_random_without_bounds(dtype: str) -> None:
    for shape in [*SHAPES, LARGE]:
        empty = torch.empty(shape, dtype=torch_dtype(dtype))
        assert_same_outcome(
            lambda g, empty=empty: empty.random_(generator=g),
            lambda g, shape=shape: random.random(g, shape, numpy_dtype(dtype)),
        )


BOUNDS = [
    (0, 2),
    (0, 10),
    (-5, 7),
    (5, 5),
    (7, 3),
    (0, 255),
    (0, 256),
    (0, 65504),
    (0, 65521),
    (0, 2**28 - 1),
    (0, 2**28),
    (0, 2**28 + 1),
    (-(2**31), 2**31),
    (0, 2**24 + 3),
    (-(2**24) - 3, 2**24 + 5),
    (-(2**60) - 3, 2**60 + 5),
    (0, 2**63 - 1),
    (-(2**63), 2**63 - 1),
    (0, None),
    (100, None),
    (-10, None),
    (-(2**63), None),
]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_random_within_bounds(bounds: tuple[int, int | None], dtype: str) -> None:
    low, high = bounds
    for shape in [(0,), (), (17,), (3, 5, 7), (1000,)]:
        empty = torch.empty(shape, dtype=torch_dtype(dtype))
        assert_same_outcome(
            lambda g, empty=empty: empty.random_(low, high, generator=g),
            lambda g, shape=shape: random.randint(g, shape, numpy_dtype(dtype), low, high),
        )


def test_a_warning_tells_of_integers_that_a_float_cannot_hold() -> None:
    with pytest.warns(UserWarning, match=r"'to - 1' within \[-2\*\*24, 2\*\*24\], got 16777217"):
        random.randint(random.Generator(), (3,), numpy.float32, 0, 2**24 + 4)


LENGTHS = [0, 1, 2, 3, 16, 127, 128, 129, 256, 257, 258, 511, 512, 513, 1000, 2049, 2050, 40000]


@pytest.mark.parametrize("dtype", ALL)
def test_randperm(dtype: str) -> None:
    for length in [-1, *LENGTHS]:
        assert_same_outcome(
            lambda g, n=length: torch.randperm(n, dtype=torch_dtype(dtype), generator=g),
            lambda g, n=length: random.randperm(g, n, numpy_dtype(dtype)),
        )


@pytest.mark.parametrize("length", [65536, 65537, 100000, 1000003])
def test_long_randperm(length: int) -> None:
    assert_same(lambda g: torch.randperm(length, generator=g), lambda g: random.randperm(g, length))


# --- trials -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 1.0, 1.5, -0.1, NAN])
def test_trials_of_one_probability(p: float, dtype: str) -> None:
    for shape in [*SHAPES, LARGE]:
        empty = torch.empty(shape, dtype=torch_dtype(dtype))
        assert_same_outcome(
            lambda g, empty=empty: empty.bernoulli_(p, generator=g),
            lambda g, shape=shape: random.bernoulli(g, shape, numpy_dtype(dtype), p),
        )
        assert_same_outcome(
            lambda g, empty=empty: empty.geometric_(p, generator=g),
            lambda g, shape=shape: random.geometric(g, shape, numpy_dtype(dtype), p),
        )


@pytest.mark.parametrize("given", [*REAL, "int64", "bool", "complex64"])
@pytest.mark.parametrize("dtype", ALL)
def test_trials_of_many_probabilities(dtype: str, given: str) -> None:
    torch.manual_seed(0)
    for shape in [(0,), (), (17,), (1000,), (3, 5, 7)]:
        p = torch.rand(shape).to(torch_dtype(given))
        empty = torch.empty(shape, dtype=torch_dtype(dtype))
        assert_same_outcome(
            lambda g, p=p, empty=empty: empty.bernoulli_(p, generator=g),
            lambda g, p=p: random.bernoulli_from(g, as_array(p), numpy_dtype(dtype)),
        )


@pytest.mark.parametrize("bad", [-0.1, 1.5, NAN])
@pytest.mark.parametrize("given", REAL)
def test_a_bad_probability_stops_where_it_does_in_pytorch(given: str, bad: float) -> None:
    p = torch.full((9,), 0.5, dtype=torch_dtype(given))
    p[4] = bad
    assert_same_failure(
        lambda g: torch.bernoulli(p, generator=g),
        lambda g: (
            random.bernoulli_from(g, as_array(p), p.numpy().dtype)
            if given != "bfloat16"
            else random.bernoulli_from(g, as_array(p), numpy_dtype(given))
        ),
    )


# --- continuous distributions -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*REAL, "int64", "complex64"])
@pytest.mark.parametrize("rate", [1.0, 0.3, 7.0, 0.0, -1.0, NAN, float("inf")])
def test_exponential(rate: float, dtype: str) -> None:
    for shape in [*SHAPES, LARGE]:
        empty = torch.empty(shape, dtype=torch_dtype(dtype))
        assert_same_outcome(
            lambda g, empty=empty: empty.exponential_(rate, generator=g),
            lambda g, shape=shape: random.exponential(g, shape, numpy_dtype(dtype), rate),
        )


@pytest.mark.parametrize("dtype", [*REAL, "int64", "complex64"])
@pytest.mark.parametrize(
    "parameters", [(0, 1), (0.3, 1.7), (-1e3, 1e-3), (1, 0), (0, -1), (0, NAN)]
)
def test_cauchy_and_log_normal(parameters: tuple[float, float], dtype: str) -> None:
    first, second = parameters
    for shape in [*SHAPES, (5003,)]:
        empty = torch.empty(shape, dtype=torch_dtype(dtype))
        assert_same_outcome(
            lambda g, empty=empty: empty.cauchy_(first, second, generator=g),
            lambda g, shape=shape: random.cauchy(g, shape, numpy_dtype(dtype), first, second),
        )
        assert_same_outcome(
            lambda g, empty=empty: empty.log_normal_(first, second, generator=g),
            lambda g, shape=shape: random.log_normal(g, shape, numpy_dtype(dtype), first, second),
        )


# --- samplers by rejection ----------------------------------------------------------------------


def _rates() -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    return {
        "small": torch.rand(2000) * 9,
        "around ten": torch.rand(2000) * 20,
        "large": torch.rand(500) * 1e4,
        "two dimensions": torch.rand(3, 4) * 15,
        "scalar": torch.tensor(3.0),
        "zeros": torch.zeros(4),
        "empty": torch.zeros(0),
        "negative": torch.tensor([1.0, 2.0, -1.0]),
        "nan": torch.tensor([1.0, NAN]),
    }


@pytest.mark.parametrize("dtype", [*REAL, "int64"])
@pytest.mark.parametrize("name", _rates())
def test_poisson(name: str, dtype: str) -> None:
    rates = _rates()[name].nan_to_num(-1) if dtype == "int64" else _rates()[name]
    rates = rates.to(torch_dtype(dtype))
    assert_same_outcome(
        lambda g: torch.poisson(rates, generator=g),
        lambda g: random.poisson(g, as_array(rates)),
    )


def _concentrations() -> dict[str, torch.Tensor]:
    torch.manual_seed(2)
    unusual = [0.0, 1.0, 0.5, 1e-3, 1e3, float("inf"), NAN, -0.5, -1.0, -3.0]
    return {
        "below one": torch.rand(2000) * 0.9,
        "small": torch.rand(2000) * 9,
        "two dimensions": torch.rand(3, 7) * 50,
        "unusual": torch.tensor(unusual),
        "scalar": torch.tensor(2.0),
        "empty": torch.zeros(0),
    }


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
@pytest.mark.parametrize("name", _concentrations())
def test_standard_gamma(name: str, dtype: str) -> None:
    alpha = _concentrations()[name].to(torch_dtype(dtype))
    assert_same_outcome(
        lambda g: torch._standard_gamma(alpha, generator=g),
        lambda g: random.standard_gamma(g, as_array(alpha)),
    )


@pytest.mark.parametrize("shape", [(), (0,), (300, 2), (100, 3), (50, 4, 10), (5, 1000)], ids=str)
def test_dirichlet(shape: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    alpha = torch.rand(shape) * 2
    assert_same(
        lambda g: torch._sample_dirichlet(alpha, generator=g),
        lambda g: random.dirichlet(g, as_array(alpha)),
    )
    theirs, ours = torch.Generator(), random.Generator()
    expected = torch._sample_dirichlet(alpha.double(), generator=theirs)
    got = random.dirichlet(ours, as_array(alpha.double()))
    # Sums of doubles run in another order.
    numpy.testing.assert_allclose(got, expected.numpy(), rtol=1e-14)


def _counts() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(4)
    unusual = torch.tensor([0.5, 0, 1, 1.5, NAN, 0.5])
    return {
        "few": (torch.randint(0, 30, (2000,)), torch.rand(2000)),
        "many": (torch.randint(0, 3000, (2000,)), torch.rand(2000)),
        "very many": (torch.randint(0, 10**7, (2000,)), torch.rand(2000)),
        "unusual": (torch.tensor([0, 5, 5, 5, 5, -2]), unusual),
        "broadcast": (torch.randint(0, 30, (5, 3)), torch.rand(3)),
        "empty": (torch.zeros(0), torch.zeros(0)),
    }


PAIRS_OF_DTYPES = [
    ("float32", "float32"),
    ("float64", "float64"),
    ("float16", "float16"),
    ("int64", "float32"),
    ("float32", "float64"),
    ("float32", "int64"),
]


@pytest.mark.parametrize("dtypes", PAIRS_OF_DTYPES, ids="-".join)
@pytest.mark.parametrize("name", _counts())
def test_binomial(name: str, dtypes: tuple[str, str]) -> None:
    count, prob = _counts()[name]
    count = count.to(torch_dtype(dtypes[0]))
    prob = (prob.nan_to_num(0.5) if dtypes[1] == "int64" else prob).to(torch_dtype(dtypes[1]))
    assert_same_outcome(
        lambda g: torch.binomial(count, prob, generator=g),
        lambda g: random.binomial(g, as_array(count), as_array(prob)),
    )


# --- multinomial -------------------------------------------------------------------------------


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("dtype", [*REAL, "int64"])
def test_multinomial(dtype: str, replacement: bool) -> None:
    torch.manual_seed(5)
    for shape in [(5,), (1,), (3, 10), (4, 1000), (20000,), (2, 0), (0,), (0, 3), (), (2, 2, 2)]:
        weights = torch.rand(shape)
        if weights.numel() > 3:
            weights.view(-1)[::3] = 0  # ties, when all others have been taken
        weights = weights.to(torch_dtype(dtype))
        for count in (0, 1, 2, 5, 10, 60, 500):
            assert_same_outcome(
                lambda g, w=weights, n=count: torch.multinomial(w, n, replacement, generator=g),
                lambda g, w=weights, n=count: random.multinomial(g, as_array(w), n, replacement),
            )


@pytest.mark.parametrize("count, replacement", [(1, False), (2, False), (2, True)])
@pytest.mark.parametrize("bad", [[0.0, 0], [1, NAN], [1, float("inf")], [1, -1]], ids=str)
def test_multinomial_refuses_bad_weights(bad: list[float], count: int, replacement: bool) -> None:
    weights = torch.tensor([[1.0, 2.0], bad])
    assert_same_failure(
        lambda g: torch.multinomial(weights, count, replacement, generator=g),
        lambda g: random.multinomial(g, as_array(weights), count, replacement),
    )


@pytest.mark.parametrize("distinct", [1, 2, 5, 50, 1000])
def test_largest_in_order_breaks_ties_as_topk_does(distinct: int) -> None:
    torch.manual_seed(distinct)
    for trial in range(100):
        length = int(torch.randint(2, 500, ()))
        count = int(torch.randint(2, length + 1, ())) if trial % 2 else max(2, length // 64)
        values = torch.randint(0, distinct, (length,)).float()
        if trial % 5 == 0:
            values[torch.rand(length) < 0.1] = NAN
        if trial % 7 == 0:
            values = values.sort(descending=bool(trial % 2)).values
        count = min(count, length)
        expected = torch.topk(values, count).indices.numpy()
        got = random.largest_in_order(values.numpy(), count)
        numpy.testing.assert_array_equal(got, expected)
