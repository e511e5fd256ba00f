"""Numbers that PyTorch 2.13 draws from seed 0 (x86-64, AVX2), recorded: no torch is needed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest

from thunk.runtime import random
from thunk.runtime.random import Generator

Draw = Callable[[Generator, Any], numpy.ndarray]


def row(*values: float) -> Callable[[Any], numpy.ndarray]:
    return lambda dtype: numpy.array(values, dtype)


CONTINUOUS: dict[str, Draw] = {
    "rand": lambda g, dtype: random.uniform(g, (3,), dtype),
    "randn, one by one": lambda g, dtype: random.normal(g, (3,), dtype),
    "randn, in blocks": lambda g, dtype: random.normal(g, (18,), dtype)[[0, 1, 8, 17]],
    "uniform_": lambda g, dtype: random.uniform(g, (3,), dtype, -2, 3),
    "normal_": lambda g, dtype: random.normal(g, (17,), dtype, 1, 0.3)[[0, 9, 16]],
    "exponential_": lambda g, dtype: random.exponential(g, (3,), dtype, 1.7),
    "cauchy_": lambda g, dtype: random.cauchy(g, (3,), dtype, 0.3, 1.7),
    "log_normal_": lambda g, dtype: random.log_normal(g, (3,), dtype, 0.3, 1.7),
    "standard_gamma": lambda g, dtype: random.standard_gamma(g, row(0.5, 1, 20)(dtype)),
}

SINGLE = {
    "rand": "0x1.fc2ab0p-2 0x1.89545ep-1 0x1.6a6750p-4",
    "randn, one by one": "0x1.8a7eb8p+0 -0x1.2c78a0p-2 -0x1.16e292p+1",
    "randn, in blocks": "-0x1.20370ap+0 -0x1.270114p+0 0x1.df54aap-2 0x1.424e6ep+0",
    "uniform_": "0x1.ecd570p-2 0x1.d752ecp+0 -0x1.8ebfb8p+0",
    "normal_": "0x1.53122cp-1 0x1.a6114cp-1 0x1.479074p+0",
    "exponential_": "0x1.082804p+1 0x1.72901cp-1 0x1.727940p-2",
    "cauchy_": "0x1.250ee8p+4 0x1.99a070p+0 0x1.4f6d10p-4",
    "log_normal_": "0x1.2891d4p+4 0x1.a3ae66p-1 0x1.105178p-5",
    "standard_gamma": "0x1.9dd9dcp-11 0x1.e75b74p-4 0x1.462f2ep+4",
}

DOUBLE = {
    "rand": "0x1.f0aac97c4aa2fp-1 0x1.6a675d821ccc0p-1 0x1.d6687b744a5f6p-2",
    "randn, one by one": "0x1.8a7eb8902be3ap+0 -0x1.2c78a087c6feap-2 -0x1.16e2920a70ee5p+1",
    "randn, in blocks": "-0x1.27bb92e9262dcp+1 -0x1.7e35794939460p-2 0x1.e8e503666016dp-3 "
    "0x1.0bff5e8d733a2p+0",
    "uniform_": "0x1.6cd57bdb5d4bbp+1 0x1.8a0269c547fe0p+0 0x1.300a694573dcep-2",
    "normal_": "0x1.3a3dd29d3df8ap-2 0x1.dab975595afe0p-1 0x1.33d43d3bc22fdp+0",
    "exponential_": "0x1.082804e45b159p+1 0x1.72901ce268ecdp-1 0x1.72793f16c2662p-2",
    "cauchy_": "0x1.250ee8aa3bba3p+4 0x1.99a070283339cp+0 0x1.4f6d0fb9cd128p-4",
    "log_normal_": "0x1.2891d4bda7d4cp+4 0x1.a3ae6624b8815p-1 0x1.1051787374ac6p-5",
    "standard_gamma": "0x1.9dd9dd72e0631p-11 0x1.e75b762c61681p-4 0x1.462f2f5fe330bp+4",
}


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize(
    "dtype, recorded", [(numpy.float32, SINGLE), (numpy.float64, DOUBLE)], ids=["single", "double"]
)
def test_continuous(name: str, dtype: Any, recorded: dict[str, str]) -> None:
    expected = numpy.array([float.fromhex(text) for text in recorded[name].split()], dtype)
    got = CONTINUOUS[name](Generator().manual_seed(0), dtype)
    assert got.dtype == expected.dtype
    numpy.testing.assert_array_equal(got, expected)


DISCRETE: dict[str, tuple[Callable[[Generator], numpy.ndarray], list[int]]] = {
    "randint": (lambda g: random.randint(g, (6,), numpy.int64, 0, 10), [4, 9, 3, 0, 3, 9]),
    "randint, wide": (
        lambda g: random.randint(g, (3,), numpy.int64, 0, 2**40),
        [741280623151, 506137267392, 291447657211],
    ),
    "random_": (
        lambda g: random.random(g, (3,), numpy.int64),
        [900450186894289455, 3969543146641149120, 1895649597198586619],
    ),
    "randperm": (lambda g: random.randperm(g, 8), [4, 0, 7, 3, 2, 5, 1, 6]),
    "geometric_": (lambda g: random.geometric(g, (4,), numpy.float32, 0.3), [1, 1, 3, 1]),
    "poisson": (lambda g: random.poisson(g, row(0.5, 5, 50)(numpy.float32)), [2, 6, 49]),
    "binomial": (
        lambda g: random.binomial(
            g, row(5, 50, 5000)(numpy.float32), row(0.5, 0.9, 0.3)(numpy.float32)
        ),
        [4, 45, 1466],
    ),
    "multinomial": (
        lambda g: random.multinomial(g, row(1, 2, 3, 4)(numpy.float32), 3),
        [2, 1, 3],
    ),
    "multinomial, with replacement": (
        lambda g: random.multinomial(g, row(1, 2, 3, 4)(numpy.float32), 5, True),
        [3, 3, 2, 3, 3],
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str) -> None:
    draw, expected = DISCRETE[name]
    assert draw(Generator().manual_seed(0)).tolist() == expected


REDUCED = {
    numpy.float16: "0x1.fc4p-2 0x1.894p-1 0x1.6a8p-4",
    ml_dtypes.bfloat16: "0x1.fcp-2 0x1.8ap-1 0x1.6ap-4",
}


@pytest.mark.parametrize("dtype", REDUCED)
def test_sixteen_bits(dtype: Any) -> None:
    expected = [float.fromhex(text) for text in REDUCED[dtype].split()]
    drawn = random.uniform(Generator().manual_seed(0), (3,), dtype)
    assert drawn.dtype == numpy.dtype(dtype)
    assert drawn.astype(numpy.float64).tolist() == expected


CHECKSUMS: dict[str, tuple[Callable[[Generator], numpy.ndarray], int]] = {
    "rand": (lambda g: random.uniform(g, (5000,), "f4"), 5892168),
    "uniform_": (lambda g: random.uniform(g, (5000,), "f4", -0.1, 0.3), 779358844),
    "randn": (lambda g: random.normal(g, (5003,), "f4"), 2183808614),
    "normal_": (lambda g: random.normal(g, (5003,), "f4", 0.1, 0.7), 2235344752),
    "randint": (lambda g: random.randint(g, (5000,), "i8", -7, 1000), 2599006531),
    "randperm": (lambda g: random.randperm(g, 5000), 4284775327),
    "bernoulli_": (lambda g: random.bernoulli(g, (5000,), "f4", 0.3), 3840146031),
}


@pytest.mark.parametrize("name", CHECKSUMS)
def test_long_streams(name: str) -> None:
    draw, expected = CHECKSUMS[name]
    assert zlib.crc32(draw(Generator().manual_seed(0)).tobytes()) == expected


@pytest.mark.parametrize(
    "draw, expected",
    [
        (lambda g: None, 1831558866),
        (lambda g: random.uniform(g, (700,), "f4"), 1341282241),
        (lambda g: random.normal(g, (3,), "f4"), 932786199),
    ],
    ids=["fresh", "within a block of words", "with a cached normal"],
)
def test_saved_states(draw: Callable[[Generator], Any], expected: int) -> None:
    generator = Generator().manual_seed(0)
    draw(generator)
    state = generator.get_state()
    assert state.dtype == numpy.uint8
    assert state.shape == (random.STATE_BYTES,) == (5056,)
    assert zlib.crc32(state.tobytes()) == expected
