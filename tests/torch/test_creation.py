"""Creation and random numbers through the public API: torch's bits, dtypes and strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from tests.torch.random_pairs import needs_vectors

import thunk

DTYPES = ["float32", "float64"]

MADE = """
T.zeros(2, 3)
T.zeros((2, 3), dtype=T.int32)
T.ones([4], dtype=T.bool)
T.full((2, 2), 3)
T.full((2,), True)
T.full((2,), 1j)
T.full((2,), -1, dtype=T.uint8)
T.eye(3)
T.eye(2, 4, dtype=T.int64)
T.arange(5)
T.arange(1, 10, 3)
T.arange(0, 1, 0.1, dtype=T.float64)
T.arange(5, 0, -2)
T.arange(2.5)
T.arange(0.5, 4, dtype=T.int64)
T.range(0, 4)
T.range(1, 2, 0.25)
T.linspace(0, 1, 7)
T.linspace(-3, 3, 5, dtype=T.int32)
T.linspace(0, 1j, 3)
T.linspace(2, 3, 1)
T.linspace(2, 3, 0)
T.linspace(T.tensor(1.0), T.tensor(2.0), 4)
T.logspace(0, 3, 4)
T.logspace(0, 2, 5, base=2, dtype=T.float64)
T.scalar_tensor(3)
T.tril_indices(3, 4, 1)
T.triu_indices(4, 3, -1, dtype=T.int32)
T.vander(T.arange(4))
T.vander(T.tensor([1.5, 2.0]), 3, True)
T.hann_window(6)
T.hann_window(6, False)
T.hamming_window(5, True, 0.6)
T.hamming_window(5, False, 0.6, 0.3)
T.bartlett_window(7)
T.blackman_window(6, periodic=False)
T.kaiser_window(5, True, 7.0)
T.kaiser_window(1)
T.signal.windows.nuttall(6)
T.signal.windows.exponential(5, tau=2.0, sym=False)
T.ones(2, 3).t().new_zeros(4)
T.ones(2, 3).new_full((2,), 7, dtype=T.int64)
T.zeros_like(T.ones(2, 3).t())
T.ones_like(T.ones(2, 3).t(), dtype=T.float64)
T.full_like(T.ones(2, 1, 3, dtype=T.int8), 5)
T.empty_like(T.ones(2, 3, 4, 5), memory_format=T.channels_last).fill_(1)
T.empty_strided((2, 3), (1, 2)).fill_(1)
T.empty_permuted((2, 3, 4), (2, 0, 1)).fill_(1)
T.empty(2, 3, 4, 5, memory_format=T.channels_last).fill_(1)
T.zeros(3, out=T.empty(0, dtype=T.float64))
T.tensor([[1, 2], [3, 4]])
T.tensor([1, 2.5])
T.tensor([True, False])
T.tensor([1, 2], dtype=T.float16)
T.tensor(3 + 4j)
T.tensor([])
T.as_tensor([1.0, 2.0])
T.asarray([[1], [2]])
T.ones(2).new_tensor([1, 2])
T.Tensor([1, 2])
T.Tensor([[1.5]])
T.LongTensor([1, 2])
T.BoolTensor([1, 0])
T.DoubleTensor([[1], [2]])
T.ones(3).new([4, 5])
T.frombuffer(bytearray(b"abcd"), dtype=T.int16)
T.frombuffer(bytearray(b"abcd"), dtype=T.uint8, offset=1, count=2)
""".strip().splitlines()

DRAWN: dict[str, Callable[[Any, Any], Any]] = {
    "rand": lambda T, d: T.rand(3, 7, dtype=d),
    "rand_like": lambda T, d: T.rand_like(T.zeros(4, 5, dtype=d).t()),
    "randn": lambda T, d: T.randn(5, 5, dtype=d),
    "randn_small": lambda T, d: T.randn(7, dtype=d),
    "randn_like": lambda T, d: T.randn_like(T.zeros(4, 5, dtype=d).t()),
    "randn_out": lambda T, d: T.randn(4, 5, out=T.zeros(5, 4, dtype=d).t()),
    "randint": lambda T, d: T.randint(-3, 10, (4, 4), dtype=d),
    "randint_wide": lambda T, d: T.randint(0, 2**40, (9,)),
    "randint_like": lambda T, d: T.randint_like(T.zeros(6, dtype=d), -5, 7),
    "randperm": lambda T, d: T.randperm(50),
    "uniform_": lambda T, d: T.empty(30, dtype=d).uniform_(-2, 3),
    "uniform_transposed": lambda T, d: T.zeros(5, 6, dtype=d).t().uniform_(),
    "uniform_strided": lambda T, d: T.zeros(8, 6, dtype=d).as_strided((8, 3), (6, 2)).uniform_(),
    "normal_": lambda T, d: T.empty(30, dtype=d).normal_(1, 0.3),
    "normal_transposed": lambda T, d: T.zeros(5, 6, dtype=d).t().normal_(),
    "normal_strided": lambda T, d: T.zeros(8, 6, dtype=d).as_strided((8, 3), (6, 2)).normal_(2, 3),
    "normal_means": lambda T, d: T.normal(T.arange(20, dtype=d), 2.0),
    "normal_stds": lambda T, d: T.normal(1.0, T.arange(20, dtype=d)),
    "normal_both": lambda T, d: T.normal(T.ones(20, dtype=d), T.full((4, 20), 3, dtype=d)),
    "normal_size": lambda T, d: T.normal(0.0, 2.0, (20,), dtype=d),
    "bernoulli_": lambda T, d: T.empty(30, dtype=d).bernoulli_(0.3),
    "bernoulli_transposed": lambda T, d: T.zeros(5, 6, dtype=d).t().bernoulli_(),
    "bernoulli_tensor": lambda T, d: T.zeros(4, 9).bernoulli_(T.linspace(0, 1, 9, dtype=d)),
    "bernoulli": lambda T, d: T.bernoulli(T.linspace(0, 1, 20, dtype=d)),
    "bernoulli_p": lambda T, d: T.bernoulli(T.zeros(20, dtype=d), 0.7),
    "multinomial": lambda T, d: T.multinomial(T.ones(3, 9, dtype=d), 4),
    "multinomial_again": lambda T, d: T.multinomial(T.ones(9, dtype=d), 20, True),
    "poisson": lambda T, d: T.poisson(T.linspace(0, 30, 20, dtype=d)),
    "binomial": lambda T, d: T.binomial(T.full((20,), 9, dtype=d), T.linspace(0, 1, 20, dtype=d)),
    "random_": lambda T, d: T.zeros(30, dtype=d).random_(),
    "random_to": lambda T, d: T.zeros(30, dtype=d).random_(5),
    "random_from": lambda T, d: T.zeros(30, dtype=d).random_(5, 90),
    "exponential_": lambda T, d: T.zeros(30, dtype=d).exponential_(2),
    "geometric_": lambda T, d: T.zeros(30, dtype=d).geometric_(0.3),
    "cauchy_": lambda T, d: T.zeros(30, dtype=d).cauchy_(),
    "log_normal_": lambda T, d: T.zeros(30, dtype=d).log_normal_(),
    "generator": lambda T, d: T.rand(3, dtype=d, generator=T.Generator().manual_seed(5)),
    "state": lambda T, d: (T.set_rng_state(T.get_rng_state()), T.rand(3, dtype=d))[1],
}


def values(tensor: Any) -> numpy.ndarray:
    return tensor.detach().numpy()


def assert_like(ours: Any, theirs: Any) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.stride() == theirs.stride()


@pytest.mark.parametrize("call", MADE)
def test_made_as_torch_makes_it(call: str) -> None:
    ours, theirs = eval(call, {"T": thunk}), eval(call, {"T": torch})
    assert_like(ours, theirs)
    numpy.testing.assert_allclose(values(ours), values(theirs), rtol=1e-6, atol=1e-7)


@needs_vectors
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", DRAWN)
def test_one_seed_gives_torch_s_bits(name: str, dtype: str) -> None:
    for seed in (0, 123):
        thunk.manual_seed(seed)
        torch.manual_seed(seed)
        ours = DRAWN[name](thunk, getattr(thunk, dtype))
        theirs = DRAWN[name](torch, getattr(torch, dtype))
        assert_like(ours, theirs)
        assert values(ours).tobytes() == values(theirs).tobytes()
        # Both streams stand at the same place afterwards.
        assert values(thunk.get_rng_state()).tobytes() == values(torch.get_rng_state()).tobytes()


def test_states_move_between_the_libraries() -> None:
    torch.manual_seed(7)
    torch.randn(3)
    thunk.set_rng_state(thunk.from_numpy(torch.get_rng_state().numpy()))
    assert values(thunk.randn(5)).tobytes() == values(torch.randn(5)).tobytes()


@pytest.mark.parametrize("sampler", ["normal_", "uniform_", "bernoulli_", "exponential_"])
def test_a_sampled_tensor_passes_no_gradient_on(sampler: str) -> None:
    for library in (thunk, torch):
        leaf = library.ones(4, requires_grad=True)
        drawn = getattr(leaf * 2, sampler)()
        (drawn * 3).sum().backward()
        assert values(leaf.grad).tolist() == [0.0] * 4
