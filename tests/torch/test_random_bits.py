"""The promised random numbers against PyTorch's: from one seed, the same bytes and end state."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.torch.random_pairs import (
    COMPLEX,
    LARGE,
    REAL,
    SEEDS,
    SHAPES,
    assert_same,
    assert_same_bits,
    assert_same_failure,
    assert_same_state,
    needs_vectors,
    numpy_dtype,
    torch_dtype,
)

from thunk.runtime import random
from thunk.runtime.random import Generator

pytestmark = needs_vectors

# What `manual_seed(0)` promises: PyTorch's call and ours, of (count, dtype name, generator).
PROMISED: dict[str, tuple[Any, Any]] = {
    "rand": (
        lambda n, dtype, g: torch.rand(n, dtype=torch_dtype(dtype), generator=g),
        lambda n, dtype, g: random.uniform(g, (n,), numpy_dtype(dtype)),
    ),
    "randn": (
        lambda n, dtype, g: torch.randn(n, dtype=torch_dtype(dtype), generator=g),
        lambda n, dtype, g: random.normal(g, (n,), numpy_dtype(dtype)),
    ),
    "randint": (
        lambda n, dtype, g: torch.randint(-3, 10, (n,), dtype=torch_dtype(dtype), generator=g),
        lambda n, dtype, g: random.randint(g, (n,), numpy_dtype(dtype), -3, 10),
    ),
    "randperm": (
        lambda n, dtype, g: torch.randperm(n, generator=g),
        lambda n, dtype, g: random.randperm(g, n),
    ),
    "uniform_": (
        lambda n, dtype, g: torch.empty(n, dtype=torch_dtype(dtype)).uniform_(-2, 3, generator=g),
        lambda n, dtype, g: random.uniform(g, (n,), numpy_dtype(dtype), -2, 3),
    ),
    "normal_": (
        lambda n, dtype, g: torch.empty(n, dtype=torch_dtype(dtype)).normal_(1, 0.3, generator=g),
        lambda n, dtype, g: random.normal(g, (n,), numpy_dtype(dtype), 1, 0.3),
    ),
    "bernoulli_": (
        lambda n, dtype, g: torch.empty(n, dtype=torch_dtype(dtype)).bernoulli_(0.3, generator=g),
        lambda n, dtype, g: random.bernoulli(g, (n,), numpy_dtype(dtype), 0.3),
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROMISED)
def test_manual_seed_of_the_default_generator(name: str, dtype: str) -> None:
    theirs, ours = PROMISED[name]
    before = random.default_generator.get_state()
    try:
        for seed in SEEDS:
            for count in (0, 1, 10, 16, 1000, LARGE[0]):
                torch.manual_seed(seed)
                random.default_generator.manual_seed(seed)
                expected = theirs(count, dtype, None)
                assert_same_bits(expected, ours(count, dtype, random.default_generator))
                assert_same_state(torch.default_generator, random.default_generator)
    finally:
        random.default_generator.set_state(before)


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
@pytest.mark.parametrize("bounds", [(0, 1), (-1, 1), (0.1, 0.7), (5, 5), (0, 0.5), (-1e3, 1e-3)])
def test_uniform(bounds: tuple[float, float], dtype: str) -> None:
    low, high = bounds
    for shape in [*SHAPES, LARGE]:
        empty = torch.empty(shape, dtype=torch_dtype(dtype))
        assert_same(
            lambda g, empty=empty: empty.uniform_(low, high, generator=g),
            lambda g, shape=shape: random.uniform(g, shape, numpy_dtype(dtype), low, high),
        )


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(
    "bounds",
    [(1, 0), (0, 1.8e308), (float("nan"), 1), (0, float("inf")), (float("-inf"), 0)],
    ids=str,
)
def test_uniform_refuses_bad_bounds(bounds: tuple[float, float], dtype: str) -> None:
    low, high = bounds
    assert_same_failure(
        lambda g: torch.empty(3, dtype=torch_dtype(dtype)).uniform_(low, high, generator=g),
        lambda g: random.uniform(g, (3,), numpy_dtype(dtype), low, high),
    )


@pytest.mark.parametrize("dtype", REAL)
def test_uniform_refuses_an_interval_that_is_too_wide(dtype: str) -> None:
    largest = torch.finfo(torch_dtype(dtype)).max
    assert_same_failure(
        lambda g: torch.empty(3, dtype=torch_dtype(dtype)).uniform_(-largest, largest, generator=g),
        lambda g: random.uniform(g, (3,), numpy_dtype(dtype), -largest, largest),
    )


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
@pytest.mark.parametrize(
    "parameters", [(0, 1), (0, 0.02), (1.5, 1), (0.3, 1.7), (-1e3, 1e-3), (0, 0), (2, 0)]
)
def test_normal(parameters: tuple[float, float], dtype: str) -> None:
    mean, std = parameters
    for shape in [*SHAPES, LARGE]:
        empty = torch.empty(shape, dtype=torch_dtype(dtype))
        assert_same(
            lambda g, empty=empty: empty.normal_(mean, std, generator=g),
            lambda g, shape=shape: random.normal(g, shape, numpy_dtype(dtype), mean, std),
        )


def test_normal_at_the_ends_of_the_exponent_range() -> None:
    for mean, std in ((1e300, 1e290), (1e-310, 3e-308), (3e-320, 7e-310), (1e307, 1.7e308)):
        assert_same(
            lambda g, m=mean, s=std: torch.empty(200).double().normal_(m, s, generator=g),
            lambda g, m=mean, s=std: random.normal(g, (200,), numpy.float64, m, s),
        )
    for mean, std in ((1e-39, 3e-38), (3e38, 2e37), (1e-44, 3e-44), (1e20, 1e-20)):
        assert_same(
            lambda g, m=mean, s=std: torch.empty(200).normal_(m, s, generator=g),
            lambda g, m=mean, s=std: random.normal(g, (200,), numpy.float32, m, s),
        )


def test_many_normals() -> None:
    """Most of the 2**24 arguments that the transform can meet, in one draw."""
    count = 2**24 + 5
    assert_same(
        lambda g: torch.randn(count, generator=g),
        lambda g: random.normal(g, (count,), numpy.float32),
        seeds=(3,),
    )


def test_normal_refuses_a_negative_deviation() -> None:
    for std in (-1.0, float("nan")):
        assert_same_failure(
            lambda g, s=std: torch.empty(3).normal_(0, s, generator=g),
            lambda g, s=std: random.normal(g, (3,), numpy.float32, 0, s),
        )


# --- tensors that are not contiguous ----------------------------------------------------------


def _layouts() -> dict[str, torch.Tensor]:
    image = torch.empty(2, 3, 4, 5)
    return {
        "transposed": torch.empty(4, 6).t(),
        "strided": torch.empty(8, 6)[::2],
        "columns": torch.empty(6, 8)[:, ::2],
        "channels_last": image.to(memory_format=torch.channels_last),
        "permuted": image.permute(2, 0, 3, 1),
        "ones": torch.empty(1, 6, 1, 4).permute(3, 2, 1, 0),
        "small": torch.empty(2, 3).t(),
    }


@pytest.mark.parametrize("layout", _layouts())
@pytest.mark.parametrize("sampler", ["uniform_", "normal_", "random_", "bernoulli_", "log_normal_"])
def test_other_layouts_are_filled_in_memory_order(sampler: str, layout: str) -> None:
    target = _layouts()[layout]
    order = random.fill_order(target.shape, target.stride())
    shape = (target.numel(),)
    ours = {
        "uniform_": lambda g: random.uniform(g, shape, numpy.float32),
        "normal_": lambda g: random.normal(g, shape, numpy.float32, contiguous=False),
        "random_": lambda g: random.random(g, shape, numpy.float32),
        "bernoulli_": lambda g: random.bernoulli(g, shape, numpy.float32),
        "log_normal_": lambda g: random.log_normal(g, shape, numpy.float32),
    }[sampler]
    theirs, generator = torch.Generator().manual_seed(5), Generator().manual_seed(5)
    getattr(target, sampler)(generator=theirs)
    got = random.arrange(ours(generator), target.shape, order)
    numpy.testing.assert_array_equal(got, target.numpy())
    assert_same_state(theirs, generator)


# --- sequences of calls and moves between the libraries -----------------------------------------

CALLS: dict[str, tuple[Any, Any]] = {
    **PROMISED,
    "exponential_": (
        lambda n, dtype, g: torch.empty(n, dtype=torch_dtype(dtype)).exponential_(generator=g),
        lambda n, dtype, g: random.exponential(g, (n,), numpy_dtype(dtype)),
    ),
    "log_normal_": (
        lambda n, dtype, g: torch.empty(n, dtype=torch_dtype(dtype)).log_normal_(generator=g),
        lambda n, dtype, g: random.log_normal(g, (n,), numpy_dtype(dtype)),
    ),
    "random_": (
        lambda n, dtype, g: torch.empty(n, dtype=torch_dtype(dtype)).random_(generator=g),
        lambda n, dtype, g: random.random(g, (n,), numpy_dtype(dtype)),
    ),
    "poisson": (
        lambda n, dtype, g: torch.poisson(torch.full((n,), 12.0).to(torch_dtype(dtype)), g),
        lambda n, dtype, g: random.poisson(g, numpy.full(n, 12.0).astype(numpy_dtype(dtype))),
    ),
    "gamma": (
        lambda n, dtype, g: torch._standard_gamma(torch.full((n,), 0.5), generator=g),
        lambda n, dtype, g: random.standard_gamma(g, numpy.full(n, 0.5, numpy.float32)),
    ),
}

CALL = st.tuples(
    st.sampled_from(sorted(CALLS)),
    st.sampled_from([0, 1, 2, 3, 5, 15, 16, 17, 40, 311, 312, 313, 624, 700]),
    st.sampled_from(REAL),
)


@given(st.integers(-(2**63), 2**64 - 1), st.lists(CALL, min_size=1, max_size=8), st.data())
def test_mixed_calls_and_states_that_move(seed: int, calls: list[Any], data: st.DataObject) -> None:
    theirs, ours = torch.Generator().manual_seed(seed), Generator().manual_seed(seed)
    assert ours.initial_seed() == theirs.initial_seed()
    for name, count, dtype in calls:
        torch_call, our_call = CALLS[name]
        assert_same_bits(torch_call(count, dtype, theirs), our_call(count, dtype, ours))
        move = data.draw(st.sampled_from(["stay", "from torch", "to torch", "pickle", "clone"]))
        if move == "from torch":
            ours = Generator().set_state(theirs.get_state().numpy())
        elif move == "to torch":
            theirs = torch.Generator()
            theirs.set_state(torch.from_numpy(ours.get_state()))
        elif move == "pickle":
            ours = pickle.loads(pickle.dumps(ours))
        elif move == "clone":
            ours = ours.clone_state()
        assert_same_state(theirs, ours)


def test_the_cached_float_sample_survives_a_round_trip() -> None:
    state = torch.Generator().manual_seed(0).get_state().numpy().copy()
    state[5048:5052] = numpy.frombuffer(numpy.float32(1.25).tobytes(), numpy.uint8)
    state[5052] = 1
    theirs = torch.Generator()
    theirs.set_state(torch.from_numpy(state))
    assert_same_state(theirs, Generator().set_state(state))


# --- the generator itself ----------------------------------------------------------------------


def test_a_new_generator_stands_where_pytorchs_does() -> None:
    assert_same_state(torch.Generator(), Generator())
    assert Generator().initial_seed() == torch.Generator().initial_seed()


BIG = 2**63
UNUSUAL_SEEDS = [0, -1, BIG, 2 * BIG - 1, 2 * BIG, -BIG, -BIG - 1, True, 1.0, "1", None]


@pytest.mark.parametrize("seed", [*UNUSUAL_SEEDS, numpy.int64(5), numpy.uint64(7)], ids=repr)
def test_seeds_are_accepted_and_refused_alike(seed: Any) -> None:
    theirs, ours = torch.Generator(), Generator()
    try:
        theirs.manual_seed(seed)
    except Exception as expected:
        with pytest.raises(type(expected)) as got:
            ours.manual_seed(seed)
        assert got.type is type(expected)
    else:
        assert ours.manual_seed(seed) is ours
        assert ours.initial_seed() == theirs.initial_seed()
    assert_same_state(theirs, ours)


@pytest.mark.parametrize("damage", ["zeros", "short", "float", "left", "next", "unseeded"])
def test_bad_states_are_refused_alike(damage: str) -> None:
    state = Generator().get_state()
    if damage == "zeros":
        state[:] = 0
    elif damage == "short":
        state = state[:-1]
    elif damage == "float":
        state = state.astype(numpy.float32)
    elif damage == "left":
        state[8:12] = 255
    elif damage == "next":
        state[16:24] = 255
    else:
        state[12] = 0
    with pytest.raises((RuntimeError, TypeError)) as expected:
        torch.Generator().set_state(torch.from_numpy(state))
    with pytest.raises(expected.type):
        Generator().set_state(state)


def test_offsets_belong_to_other_generators() -> None:
    assert_same_failure(lambda g: g.get_offset(), lambda g: g.get_offset())
    assert_same_failure(lambda g: g.set_offset(1), lambda g: g.set_offset(1))
