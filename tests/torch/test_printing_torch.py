"""Thunk's text of a tensor against PyTorch's, byte for byte, on generated values and options."""

from __future__ import annotations

import math
import os

import ml_dtypes
import numpy
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thunk.tensor import printing
from thunk.types.dtype import all_dtypes, dtype_named

EXAMPLES = int(os.environ.get("PRINTING_EXAMPLES", "150"))
CASES = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = [element.name for element in all_dtypes()]
INTERESTING = [
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 10.0, 100.0, 999.0, 1000.0, 1001.0, 1e-3, 1e-4, 9.9e-5, 1e-5,
    1e8, 1.0001e8, 9.9e7, 65504.0, 1e30, 1e-30, 1e-45, 5e-324, 1.7e308, math.inf, -math.inf,
    math.nan, 123456789.0, 1.5, -2.25, 0.33333, 12345.678, 2.5, 3.5, 0.00005, 99999.5,
]  # fmt: skip
SHAPES = [
    (), (0,), (1,), (2,), (7,), (30,), (1000,), (1001,), (1300,), (0, 3), (2, 0), (3, 4), (1, 1),
    (1, 40), (40, 1), (6, 200), (7, 200), (2, 600), (600, 2), (2, 3, 4), (1, 0, 2), (11, 10, 12),
    (5, 3, 100), (2, 2, 2, 2), (8, 3, 8, 7), (1, 1, 1, 1), (7, 7, 7, 7), (3, 1, 2, 1, 2),
]  # fmt: skip


def as_torch(array: numpy.ndarray) -> torch.Tensor:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def make_array(name: str, shape: tuple[int, ...], seed: int, style: int) -> numpy.ndarray:
    """Values of one of several characters: whole, uniform, wide, special or mixed."""
    random = numpy.random.default_rng(seed)
    element = dtype_named(name)
    if name == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if not element.is_inexact:
        info = numpy.iinfo(element.numpy)
        low, high = (info.min, info.max) if style % 2 else (max(info.min, -20), 20)
        return numpy.asarray(random.integers(low, high, shape, dtype=element.numpy, endpoint=True))
    if element.is_complex:
        real = make_array("float64", shape, seed, style)
        imaginary = make_array("float64", shape, seed + 1, (style + seed) % 7)
        parts = numpy.empty(shape, numpy.complex128)
        parts.real, parts.imag = real, imaginary
        values = parts
    else:
        values = numpy.asarray(_floats(random, shape, style))
    with numpy.errstate(over="ignore"):
        return values.astype(element.numpy)


def _floats(random: numpy.random.Generator, shape: tuple[int, ...], style: int) -> numpy.ndarray:
    if style == 0:
        return random.standard_normal(shape)
    if style == 1:
        return random.integers(-2000, 2000, shape).astype(float)
    if style == 2:
        return random.standard_normal(shape) * 10.0 ** random.integers(-12, 12)
    if style == 3:
        return random.standard_normal(shape) * 10.0 ** random.uniform(-8, 8, shape)
    if style == 4:
        return random.choice(INTERESTING, shape)
    if style == 5:
        some = random.choice(INTERESTING, 3)
        return random.choice(some, shape)
    return numpy.round(random.standard_normal(shape) * 100) / random.choice([1, 2, 10])


arrays = st.builds(
    make_array,
    st.sampled_from(NAMES),
    st.sampled_from(SHAPES),
    st.integers(0, 2**31),
    st.integers(0, 6),
)


def ours(array: numpy.ndarray, **facts: object) -> str:
    name = str(array.dtype)
    return printing.tensor_text(array, dtype_name=name, **facts)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _default_options():
    yield
    torch.set_printoptions(profile="default")
    printing.set_printoptions(profile="default")


@CASES
@given(arrays)
def test_values(array):
    assert ours(array) == repr(as_torch(array))


@CASES
@given(
    arrays,
    st.fixed_dictionaries(
        {},
        optional={
            "profile": st.sampled_from(["default", "short", "full"]),
            "precision": st.integers(0, 12),
            "threshold": st.sampled_from([0, 1, 5, 100, 1300]),
            "edgeitems": st.integers(0, 5),
            "linewidth": st.sampled_from([1, 20, 60, 80, 120, 400]),
            "sci_mode": st.sampled_from([True, False, None]),
        },
    ),
)
def test_options(array, options):
    if options.get("profile") == "full" and array.size > 300:
        options["profile"] = "short"
    with torch._tensor_str.printoptions(**options), printing.printoptions(**options):
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
        assert ours(array) == repr(as_torch(array))
    assert printing.get_printoptions() == torch._tensor_str.get_printoptions()


@CASES
@given(
    arrays,
    st.sampled_from(["float32", "float64", "float16", "bfloat16"]),
    st.booleans(),
    st.booleans(),
)
def test_suffixes(array, default, requires_grad, has_history):
    tensor = as_torch(array)
    facts: dict[str, object] = {"default_dtype": default}
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    try:
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            tensor.requires_grad_(requires_grad)
            facts["requires_grad"] = requires_grad
            if requires_grad and has_history:
                tensor = tensor.reshape(tensor.shape).clone()
                facts["grad_fn_name"] = type(tensor.grad_fn).__name__
        assert ours(array, **facts) == repr(tensor)
    finally:
        torch.set_default_dtype(before)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["float32", "float64", "float16"]),
    st.lists(st.floats(width=16) | st.sampled_from(INTERESTING) | st.floats(width=64), max_size=12),
)
def test_adversarial_floats(name, values):
    with numpy.errstate(over="ignore"):
        array = numpy.array(values, dtype=numpy.float64).astype(name)
    assert ours(array) == repr(as_torch(array))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 3)])
@pytest.mark.parametrize("name", ["float32", "int64", "bool", "complex64", "bfloat16"])
def test_meta(shape, name):
    tensor = torch.empty(shape, dtype=getattr(torch, name), device="meta")
    text = printing.tensor_text(None, shape=shape, dtype_name=name, device="meta")
    assert text == repr(tensor)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_parameters(requires_grad):
    array = numpy.ones((2, 3), numpy.float32)
    parameter = torch.nn.Parameter(torch.from_numpy(array), requires_grad=requires_grad)
    text = ours(array, is_parameter=True, requires_grad=requires_grad)
    assert text == repr(parameter)


def test_subclasses():
    class Mine(torch.nn.Parameter):
        pass

    array = numpy.ones((2, 30), numpy.float32)
    text = ours(array, is_parameter=True, requires_grad=True, prefix="Mine(")
    assert text == repr(Mine(torch.from_numpy(array)))


def test_contents():
    array = numpy.ones((2, 30), numpy.float16)
    assert ours(array, contents="...") == torch.from_numpy(array).__repr__(tensor_contents="...")


@pytest.mark.parametrize("name", ["float32", "float16", "int8"])
def test_noncontiguous(name):
    array = numpy.arange(60).reshape(5, 12).astype(name)[::2, ::3].T
    assert ours(array) == repr(torch.from_numpy(array))
