"""Casts between all pairs of dtypes against PyTorch's, bit for bit where C defines the result."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy
import pytest
import torch

from thunk.types.casting import cast_array
from thunk.types.dtype import all_dtypes, dtype_named

DTYPES = all_dtypes()


def as_torch(array: numpy.ndarray) -> torch.Tensor:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def bits(array: numpy.ndarray) -> numpy.ndarray:
    """The bytes of `array`, with every NaN made the same."""
    array = numpy.ascontiguousarray(array)
    if array.dtype.kind == "V":
        array = array.astype(numpy.float32)
    if array.dtype.kind in "fc":
        array = array.copy()
        array[numpy.isnan(array)] = numpy.nan
    return array.reshape(-1).view(numpy.uint8)


def values_of(element) -> numpy.ndarray:
    """Values that every other dtype can hold or round to."""
    random = numpy.random.default_rng(0)
    small = random.integers(0, 100, 50)
    if not element.is_inexact:
        info = (0, 1) if element.name == "bool" else _limits(element)
        wide = random.integers(*info, 200, dtype=numpy.uint64 if info[1] > 2**63 else numpy.int64)
        return numpy.concatenate([small, wide]).astype(element.numpy)
    ties = (1 + random.integers(0, 2**12, 300) / 2**12) * 2.0 ** random.integers(-20, 17, 300)
    nudged = ties * (1 + 2.0 ** -random.integers(24, 52, 300).astype(float))
    values = numpy.concatenate([small, small + 0.5, ties, nudged, -ties, [0.0, -0.0]])
    if element.is_complex:
        values = values + 1j * values[::-1]
    with numpy.errstate(over="ignore"):
        return values.astype(element.numpy)


def _limits(element) -> tuple[int, int]:
    info = numpy.iinfo(element.numpy)
    return int(info.min), int(info.max)


@pytest.mark.parametrize(
    ("source", "target"),
    list(itertools.product(DTYPES, DTYPES)),
    ids=lambda element: element.name,
)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_pairs(source, target):
    array = values_of(source)
    if source.is_inexact and not target.is_inexact and target.name != "bool":
        # C leaves the conversion of values outside of the integer type open.
        low, high = _limits(target)
        real = array.real.astype(numpy.float64)
        array = array[(real >= low) & (real <= min(high, 2**62))]
    result = cast_array(array, target)
    assert result.dtype == target.numpy
    oracle = as_torch(array).to(getattr(torch, target.name))
    assert (bits(result) == bits(_array(oracle))).all()


def _array(tensor: torch.Tensor) -> numpy.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "complex64", "bool"])
def test_specials(target):
    array = numpy.array([numpy.inf, -numpy.inf, numpy.nan, 1e300, -1e300, 65519.99, 65520.0, 1e-46])
    oracle = torch.from_numpy(array).to(getattr(torch, target))
    assert (bits(cast_array(array, dtype_named(target))) == bits(_array(oracle))).all()


def test_result_is_a_copy():
    for element in DTYPES:
        array = numpy.ones(3, element.numpy)
        assert not numpy.shares_memory(cast_array(array, element), array)
