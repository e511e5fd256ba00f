"""Helpers of the random tests: a call in PyTorch and one here, compared in bytes and end state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest
import torch

from thunk.runtime.random import Generator

SEEDS = (0, 1, -1, 12345, 2**64 - 1)
SHAPES = [(0,), (), (1,), (2,), (15,), (16,), (17,), (31,), (32,), (1000,), (3, 5, 7), (2, 0, 3)]
LARGE = (100003,)
REAL = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
COUNTABLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
WIDE_UNSIGNED = ("uint16", "uint32", "uint64")

Torch = Callable[[torch.Generator], torch.Tensor]
Ours = Callable[[Generator], Any]

# Every test file of random numbers sets `pytestmark = needs_vectors`: without AVX2, PyTorch rounds
# products and sums one by one, and uses other functions for float32 normals.
needs_vectors = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT",
    reason="PyTorch without AVX2 gives other last bits",
)


def torch_dtype(name: str) -> torch.dtype:
    return getattr(torch, name)


def numpy_dtype(name: str) -> numpy.dtype:
    return numpy.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def as_array(tensor: torch.Tensor) -> numpy.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def assert_same_bits(expected: torch.Tensor, got: numpy.ndarray) -> None:
    array = as_array(expected.contiguous())
    assert got.dtype == array.dtype
    assert got.shape == array.shape
    assert got.flags.c_contiguous
    if array.tobytes() != got.tobytes():
        numpy.testing.assert_array_equal(got, array)
        raise AssertionError("equal numbers with different bits: signed zeros or NaN")


def assert_same_state(theirs: torch.Generator, ours: Generator) -> None:
    numpy.testing.assert_array_equal(ours.get_state(), theirs.get_state().numpy())


def assert_same(theirs: Torch, ours: Ours, seeds: tuple[int, ...] = SEEDS[:2]) -> None:
    """Both calls give the same array and leave the same state, for each seed."""
    for seed in seeds:
        torch_generator = torch.Generator().manual_seed(seed)
        generator = Generator().manual_seed(seed)
        assert_same_bits(theirs(torch_generator), ours(generator))
        assert_same_state(torch_generator, generator)


def assert_same_failure(theirs: Torch, ours: Ours) -> None:
    """Both calls raise the same type of exception and leave the same state."""
    torch_generator, generator = torch.Generator(), Generator()
    with pytest.raises(Exception) as expected:
        theirs(torch_generator)
    with pytest.raises(Exception) as got:
        ours(generator)
    assert got.type is expected.type, (expected.value, got.value)
    assert_same_state(torch_generator, generator)
