"""The arithmetic under the samplers: single rounding, the C library's functions, Box-Muller."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thunk.runtime.random import box_muller, libm
from thunk.runtime.random.rounding import (
    _sum_to_odd,
    convert,
    fused_multiply_add_double,
    fused_multiply_add_single,
)

MODERATE = st.floats(-1e3, 1e3)
ANY = st.floats(allow_nan=False, allow_infinity=False)
ANY_SINGLE = st.floats(allow_nan=False, allow_infinity=False, width=32)


def exact(value: float, factor: float, addend: float) -> Fraction:
    return Fraction(value) * Fraction(factor) + Fraction(addend)


def rounded(fraction: Fraction) -> float:
    try:
        return float(fraction)
    except OverflowError:
        return math.inf if fraction > 0 else -math.inf


def rounded_to_single(fraction: Fraction) -> numpy.float32:
    """The nearest float32, found among the neighbours of a first guess; ties go to even bits."""
    with numpy.errstate(over="ignore"):
        guess = numpy.float32(rounded(fraction))
    if not numpy.isfinite(guess):
        return guess
    infinity = numpy.float32(numpy.inf)
    with numpy.errstate(over="ignore"):
        around = [numpy.nextafter(guess, -infinity), guess, numpy.nextafter(guess, infinity)]
    finite = [candidate for candidate in around if numpy.isfinite(candidate)]
    return min(
        finite,
        key=lambda item: (abs(Fraction(float(item)) - fraction), int(item.view(numpy.int32)) & 1),
    )


@given(st.lists(MODERATE, min_size=1, max_size=20), MODERATE, MODERATE)
def test_double_products_and_sums_are_rounded_once(
    values: list[float], factor: float, addend: float
) -> None:
    got = fused_multiply_add_double(numpy.array(values), factor, addend)
    assert got.tolist() == [rounded(exact(value, factor, addend)) for value in values]


@given(st.lists(st.floats(-1e19, 1e19), min_size=1, max_size=5), ANY, ANY)
def test_double_rounding_once_holds_for_every_exponent(
    values: list[float], factor: float, addend: float
) -> None:
    values = [value if abs(value) > 2.0**-64 else 0.0 for value in values]
    got = fused_multiply_add_double(numpy.array(values), factor, addend)
    assert got.tolist() == [rounded(exact(value, factor, addend)) for value in values]


@given(
    st.lists(st.floats(-16, 16, width=32), min_size=1, max_size=20),
    st.floats(-1e3, 1e3, width=32),
    st.floats(-1e3, 1e3, width=32),
)
def test_single_products_and_sums_are_rounded_once(
    values: list[float], factor: float, addend: float
) -> None:
    got = fused_multiply_add_single(numpy.array(values, numpy.float32), factor, addend)
    expected = [rounded_to_single(exact(value, factor, addend)) for value in values]
    assert got.tolist() == expected


@given(st.floats(-16, 16, width=32), ANY_SINGLE, ANY_SINGLE)
def test_single_rounding_once_holds_for_every_exponent(
    value: float, factor: float, addend: float
) -> None:
    got = fused_multiply_add_single(numpy.array([value], numpy.float32), factor, addend)
    expected = rounded_to_single(exact(value, factor, addend))
    if numpy.isfinite(expected) and numpy.isfinite(got[0]):
        assert got[0] == expected
    else:
        assert abs(exact(value, factor, addend)) > Fraction(3.4028234e38)


def test_a_tie_that_rounding_to_double_creates_does_not_decide() -> None:
    """1 + 2**-24 + 2**-60 lies above the middle of two float32, but its double is that middle."""
    above = numpy.float32(1 + 2.0**-23)
    total = Fraction(1) + Fraction(1, 2**24) + Fraction(1, 2**60)
    assert rounded_to_single(total) == above
    assert numpy.float32(float(total)) == numpy.float32(1)
    odd = _sum_to_odd(numpy.array([1 + 2.0**-24]), numpy.float64(2.0**-60))
    assert odd.astype(numpy.float32)[0] == above


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_product_just_above_half_a_unit_is_rounded_up(sign: float) -> None:
    value, factor = 1 + 7970019 * 2.0**-23, float.fromhex("0x1.068cf4p-25")
    assert Fraction(value) * Fraction(factor) > Fraction(1, 2**24)
    assert value * factor + 1 == 1 + 2.0**-24  # so that a second rounding goes down, to 1
    got = fused_multiply_add_single(numpy.array([sign * value], numpy.float32), factor, sign)
    assert got[0] == sign * (1 + 2.0**-23)


@pytest.mark.parametrize("factor, addend", [(1.0, 0.0), (0.5, 0.0), (0.0, 2.0), (0.3, 0.7)])
def test_zeros(factor: float, addend: float) -> None:
    values = numpy.array([0.0, -0.0])
    expected = values * factor + addend
    for got in (
        fused_multiply_add_double(values.copy(), factor, addend),
        fused_multiply_add_single(values.astype(numpy.float32), factor, addend),
    ):
        numpy.testing.assert_array_equal(got, expected.astype(got.dtype))
        numpy.testing.assert_array_equal(numpy.signbit(got), numpy.signbit(expected))


@pytest.mark.parametrize("factor, addend", [(2.0, 0.0), (0.5, float("inf")), (float("nan"), 1.0)])
def test_infinities_and_nan(factor: float, addend: float) -> None:
    values = numpy.array([1.0, -3.0, 0.0])
    for got in (
        fused_multiply_add_double(values.copy(), factor, addend),
        fused_multiply_add_single(values.astype(numpy.float32), factor, addend),
    ):
        numpy.testing.assert_array_equal(got, values * factor + addend)


def test_conversion_to_sixteen_bits_passes_through_single() -> None:
    # Just above the middle of two neighbours: float32 rounds it to the middle.
    half = numpy.array([1 + 2.0**-11 + 2.0**-40])
    assert convert(half, numpy.float16)[0] == 1.0
    brain = numpy.array([1 + 2.0**-8 + 2.0**-40])
    assert convert(brain, ml_dtypes.bfloat16)[0] == 1.0
    assert convert(numpy.array([1e39]), numpy.float32)[0] == numpy.inf


FUNCTIONS: dict[str, tuple[libm.LibraryFunction, Any, tuple[float, float]]] = {
    "log": (libm.log, math.log, (1e-16, 1.0)),
    "log1p": (libm.log1p, math.log1p, (-0.999, 0.0)),
    "exp": (libm.exp, math.exp, (-20.0, 20.0)),
    "sin": (libm.sin, math.sin, (0.0, 6.3)),
    "cos": (libm.cos, math.cos, (0.0, 6.3)),
    "tan": (libm.tan, math.tan, (-1.57, 1.57)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("vector_agrees", [None, False])
def test_functions_have_the_bits_of_the_c_library(name: str, vector_agrees: bool | None) -> None:
    function, scalar, (low, high) = FUNCTIONS[name]
    values = numpy.random.default_rng(1).uniform(low, high, (20, 500))
    before = function._vector_agrees
    function._vector_agrees = vector_agrees
    try:
        got = function(values)
    finally:
        function._vector_agrees = before
    assert got.shape == values.shape
    assert got.ravel().tolist() == [scalar(value) for value in values.ravel().tolist()]


def test_functions_outside_their_domain() -> None:
    infinity = numpy.inf
    assert libm.log(numpy.array([0.0, 1.0, infinity])).tolist() == [-infinity, 0.0, infinity]
    assert libm.log1p(numpy.array([-1.0, 0.0])).tolist() == [-infinity, 0.0]
    assert libm.exp(numpy.array([1000.0, -1000.0, 0.0])).tolist() == [infinity, 0.0, 1.0]
    assert math.isnan(libm.tan(numpy.array([infinity]))[0])
    assert math.isnan(libm.log(numpy.array([-1.0, 0.5]))[0])
    assert libm.sin(numpy.array([])).size == 0


def test_every_argument_of_box_muller_is_rounded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 2**24 uniform numbers, through both functions: rounding twice never changes a bit."""
    twice = box_muller._fused
    seen, wrong = 0, 0

    def compared(left: Any, right: Any, addend: Any) -> Any:
        nonlocal seen, wrong
        once = _sum_to_odd(left * right, numpy.asarray(addend, numpy.float64)).astype(numpy.float32)
        seen += once.size
        wrong += int((once.view(numpy.int32) != twice(left, right, addend).view(numpy.int32)).sum())
        return once

    monkeypatch.setattr(box_muller, "_fused", compared)
    step = 2**18
    for start in range(0, 2**24, step):
        uniforms = numpy.arange(start, start + step).astype(numpy.float32) * numpy.float32(2.0**-24)
        box_muller.transform_pairs(uniforms, uniforms)
    assert seen == 18 * 2**24
    assert wrong == 0


def test_box_muller_is_accurate() -> None:
    uniforms = numpy.arange(0, 2**24, 977).astype(numpy.float32) * numpy.float32(2.0**-24)
    first, second = uniforms, numpy.random.default_rng(0).permutation(uniforms)
    cosines, sines = box_muller.transform_pairs(first, second)
    radius = numpy.sqrt(-2 * numpy.log1p(-first.astype(numpy.float64)))
    angle = 2 * numpy.pi * second.astype(numpy.float64)
    numpy.testing.assert_allclose(cosines, radius * numpy.cos(angle), rtol=0, atol=3e-6)
    numpy.testing.assert_allclose(sines, radius * numpy.sin(angle), rtol=0, atol=3e-6)
