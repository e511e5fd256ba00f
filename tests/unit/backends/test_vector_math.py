"""Vector functions keep their promised error everywhere, on every kind of machine and width."""

import itertools
import math
import re
from functools import cache
from typing import Any

import numpy
import pytest
from llvmlite import ir

import vector_kernels
import vector_references
from thunk.backends.cpu.llvm.math import vector_functions
from thunk.backends.cpu.llvm.math.target import emitting_for

FLOATS = (numpy.float32, numpy.float64)
WIDTH = {numpy.float32: 16, numpy.float64: 8}
MACHINES = {
    "this machine": vector_kernels.host_features(),
    "without AVX-512": vector_kernels.host_features(("avx512", "amx", "avx10")),
    "without fused operations": vector_kernels.host_features(("avx512", "amx", "avx10", "fma")),
}
SLOW = {"erf", "erfc", "erfinv", "sinc", "gelu", "special_ndtr", "lgamma", "digamma"}

# Units in the last place; 2 where nothing is said. A few float64 results multiply three numbers.
WORST = {
    (numpy.float32, "xlogy"): 2.5,
    (numpy.float32, "elu"): 2.5, (numpy.float32, "special_ndtr"): 3.0,
    (numpy.float32, "gelu"): 3.5, (numpy.float64, "gelu"): 4.0, (numpy.float64, "mish"): 4.0,
    (numpy.float64, "sinh"): 2.5, (numpy.float64, "erfc"): 3.0,
    (numpy.float64, "special_ndtr"): 4.0, (numpy.float64, "sinc"): 3.0,
    (numpy.float64, "special_xlog1py"): 2.5,
}  # fmt: skip
# Where a result is a difference that cancels, the error is one of numbers of this size.
SIZE = {
    "logaddexp": 1.0, "silu_backward": 1.0, "mish_backward": 1.0, "gelu_tanh_backward": 1.0,
    "softplus_backward": 1.0, "gelu_tanh": 0.5, "digamma": 8.0, "lgamma": 2.0,
}  # fmt: skip
# A number times a subnormal one: measured where the result is a normal number.
PRODUCTS = {"silu", "gelu", "mish", "special_ndtr", "sinc"}


@cache
def references() -> dict[str, vector_references.Reference]:
    return vector_references.references(slow=False)


def operands_of(name: str, count: int, dtype: Any, samples: int) -> list[Any]:
    operands = [vector_references.samples(dtype, samples, 7 + each) for each in range(count)]
    fixed = {"softplus": {1: 2.0, 2: 20.0}, "softplus_backward": {0: 1.0, 2: 2.0, 3: 20.0},
             "elu": {1: 1.67, 2: 1.05, 3: 1.0}}  # fmt: skip
    places = fixed.get(name, {0: 1.0} if name.endswith("_backward") else {})
    for place, value in places.items():
        operands[place] = numpy.full_like(operands[0], value)
    if name.endswith("_backward"):
        operands[1] = numpy.where(numpy.isinf(operands[1]), dtype(0), operands[1])
    return operands


def check(name: str, reference: Any, dtype: Any, features: Any, samples: int) -> None:
    operands = operands_of(name, reference.operands, dtype, samples)
    function = vector_kernels.compile_function(
        vector_functions[name], reference.operands, dtype, WIDTH[dtype], features
    )
    result = function(*operands)
    with numpy.errstate(all="ignore"):
        exact = reference.function(*(each.astype(numpy.longdouble) for each in operands))
    least = float(numpy.finfo(dtype).tiny) * (1024 if name in PRODUCTS else 1)
    errors = vector_references.ulps(result, exact, SIZE.get(name, least))
    if name == "sinc":
        errors = numpy.where(result == exact, 0, errors)  # its zeros have no sign
    if name == "digamma":
        errors = numpy.where(operands[0] == 0, 0, errors)  # its poles have a test of their own
    worst = int(errors.argmax())
    where = [float(each[worst]) for each in operands]
    bound = WORST.get((dtype, name), 2.0 if name not in SIZE else 4.0)
    assert errors[worst] <= bound, (where, result[worst], exact[worst])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(vector_references.references(slow=False)))
def test_the_error_is_bounded(name: str, dtype: Any, machine: str) -> None:
    check(name, references()[name], dtype, MACHINES[machine], 12_000)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(SLOW))
def test_the_error_against_many_digits_is_bounded(name: str, dtype: Any) -> None:
    pytest.importorskip("mpmath")
    reference = vector_references.references()[name]
    check(name, reference, dtype, MACHINES["this machine"], 1000)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "function"), [("erf", math.erf), ("erfc", math.erfc)])
def test_error_functions_agree_with_the_c_library(name: str, function: Any, dtype: Any) -> None:
    x = vector_references.samples(dtype, 20_000, 3)
    result = vector_kernels.compile_function(vector_functions[name], 1, dtype, WIDTH[dtype])(x)
    exact = numpy.array([function(float(each)) for each in x])
    bound = 2.0 if dtype is numpy.float32 else 4.0
    errors = vector_references.ulps(result, exact, 1024 * float(numpy.finfo(dtype).tiny))
    assert errors.max() <= bound, x[errors.argmax()]


def test_gamma_functions_at_their_poles() -> None:
    x = numpy.array([0.0, -0.0, -1.0, -2.0, math.inf, -math.inf, math.nan, 1.0, 2.0])
    nan, inf = math.nan, math.inf
    lgamma = vector_kernels.compile_function(vector_functions["lgamma"], 1, numpy.float64, 8)(x)
    numpy.testing.assert_array_equal(lgamma, [inf, inf, inf, inf, inf, inf, nan, 0, 0])
    digamma = vector_kernels.compile_function(vector_functions["digamma"], 1, numpy.float64, 8)(x)
    expected = [-inf, inf, nan, nan, inf, nan, nan, -0.5772156649015329, 0.42278433509846714]
    numpy.testing.assert_allclose(digamma, expected, rtol=1e-15)


FEW = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0,
       2.5, -2.5, 1e300, -1e300, 1e-300, 5e-324, 2.0**53 - 1, 2.0**52 + 0.5, 1e30)  # fmt: skip


def c_power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except ValueError:
        odd = exponent % 2 == 1
        return math.nan if base else math.copysign(math.inf, base if odd else 1.0)
    except OverflowError:
        return math.copysign(math.inf, -1.0 if base < 0 and exponent % 2 == 1 else 1.0)


def remainder(dividend: float, divisor: float) -> float:
    """PyTorch's: the sign is the divisor's, and zeros keep the dividend's."""
    try:
        left = math.fmod(dividend, divisor)
    except ValueError:
        return math.nan
    return left + divisor if left and (left < 0) != (divisor < 0) else left


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "function"),
    [("pow", c_power), ("atan2", math.atan2), ("remainder", remainder), ("hypot", math.hypot)],
)
def test_special_pairs_are_as_in_c(name: str, function: Any, machine: str) -> None:
    pairs = numpy.array(list(itertools.product(FEW, FEW))).T
    emit = vector_functions[name]
    run = vector_kernels.compile_function(emit, 2, numpy.float64, 8, MACHINES[machine])
    result = run(*(numpy.ascontiguousarray(each) for each in pairs))
    expected = numpy.array([function(float(x), float(y)) for x, y in pairs.T])
    errors = vector_references.ulps(result, expected, 5e-324)
    worst = int(errors.argmax())
    assert errors[worst] <= 2, (pairs.T[worst], result[worst], expected[worst])


def arity(name: str) -> int:
    known = {"elu_backward": 5, "elu_backward_of_result": 5, "log_sigmoid_backward": 3,
             "gelu_backward": 2, "logaddexp2": 2, "remainder": 2}  # fmt: skip
    if name in known or name in SLOW:
        return known.get(name, 1)
    return references()[name].operands


@pytest.mark.parametrize("name", sorted(vector_functions))
def test_every_width_gives_the_same(name: str) -> None:
    """One lane at a time, part of a register, or several registers."""
    for dtype in FLOATS:
        operands = operands_of(name, arity(name), dtype, 100)
        operands = [each[:32] for each in operands]
        results = [
            vector_kernels.compile_function(vector_functions[name], arity(name), dtype, width)(
                *operands
            )
            for width in (1, 2, 4, 32)
        ]
        for result in results[1:]:
            numpy.testing.assert_array_equal(result, results[0])
            same = numpy.signbit(result) == numpy.signbit(results[0])
            assert (same | numpy.isnan(result)).all()


@pytest.mark.parametrize("machine", ["this machine", "without AVX-512"])
@pytest.mark.parametrize("name", sorted(vector_functions))
def test_code_is_straight_and_calls_nothing(name: str, machine: str) -> None:
    for kind in (ir.FloatType(), ir.DoubleType()):
        vector = ir.VectorType(kind, 8)
        module = ir.Module()
        form = ir.FunctionType(vector, [vector] * arity(name))
        function = ir.Function(module, form, "f")
        builder = ir.IRBuilder(function.append_basic_block())
        with emitting_for(MACHINES[machine]):
            builder.ret(vector_functions[name](builder, *function.args))
        text = str(module)
        assert not re.search(r"\b(br|switch|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)\b", text)
        assembly = vector_kernels.Compiled(module, MACHINES[machine]).assembly
        assert not re.search(r"\bcall|\bjmp", assembly), name


@pytest.mark.parametrize("name", sorted(name for name in vector_functions if arity(name) == 1))
def test_float32_agrees_with_float64(name: str) -> None:
    """A sample of what `benchmarks/accuracy.py` does for all float32 numbers."""
    judge = vector_kernels.worst_of_range(name, least=SIZE.get(name, 2.0**-118))
    worst, where = max(judge(start << 20, 64) for start in range(4096))
    bound = max(2.2, WORST.get((numpy.float32, name), 5.0 if name in SIZE else 0))
    assert worst <= bound, where


def test_a_scalar_is_as_good_as_a_vector() -> None:
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.DoubleType(), [ir.DoubleType()]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(vector_functions["sin"](builder, vector_functions["exp"](builder, *function.args)))
    assert vector_kernels.Compiled(module, vector_kernels.host_features()).address("f")


def test_names_are_taken_once() -> None:
    from thunk.backends.cpu.llvm.math.registry import vector_function

    with pytest.raises(ValueError, match="exp: expected a new name"):
        vector_function("exp")(lambda x: x)


def test_polynomials_are_those_that_the_tool_computes() -> None:
    pytest.importorskip("mpmath")
    import make_coefficients

    assert make_coefficients.TARGET.read_text(encoding="utf-8") == make_coefficients.page()
