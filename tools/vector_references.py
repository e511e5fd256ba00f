"""Enters: names of vector functions. Leaves: what they should give, in more digits, and inputs.

Invariant: references take and return long doubles; those marked slow go number by number through
`mpmath`. They are written from definitions, not from the emitters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

Array = Any
Long = numpy.longdouble


@dataclass(frozen=True)
class Reference:
    """A definition in more digits than the results have."""

    function: Callable[..., Array]
    operands: int = 1
    slow: bool = False


def _digits(function: Callable[[Any], Any], poles: float = float("nan")) -> Reference:
    """A function of `mpmath`, applied to each number."""
    from mpmath import isinf, isnan, mp, mpf, nstr

    def one(number: float) -> Any:
        if number == 0.0:
            value = _at_zero(function, number)
            if value is not None:
                return value
        try:
            with mp.workprec(150):
                value = function(mpf(number))
        except (ValueError, ZeroDivisionError):
            return Long(poles)
        if hasattr(value, "imag") and value.imag != 0:
            return Long("nan")
        value = value.real
        if isnan(value) or isinf(value) or abs(value) > mpf(10) ** 4900:
            return Long(float(value))
        return Long(nstr(value, 25))

    def evaluate(x: Array) -> Array:
        return numpy.array([one(float(number)) for number in x], Long)

    return Reference(evaluate, slow=True)


def _at_zero(function: Callable[[Any], Any], number: float) -> Any:
    """Odd functions keep the sign of zero, which `mpmath` does not know."""
    try:
        return Long(number) if function(0) == 0 else None
    except (ValueError, ZeroDivisionError):
        return None


def _logistic(x: Array) -> Array:
    return numpy.where(x < 0, numpy.exp(x), 1) / (1 + numpy.exp(-abs(x)))


def _softplus(x: Array) -> Array:
    return numpy.maximum(x, 0) + numpy.log1p(numpy.exp(-abs(x)))


def _elu(x: Array, alpha: Array, scale: Array, inner: Array) -> Array:
    return numpy.where(x <= 0, numpy.expm1(x * inner) * alpha * scale, x * scale)


def _logit(x: Array) -> Array:
    near = numpy.where(
        x < 0.5, -numpy.log1p((1 - 2 * x) / x), numpy.log1p((2 * x - 1) / (1 - x))
    )
    return numpy.where(abs(x - 0.5) < 0.25, near, numpy.log(x / (1 - x)))


def _xlogy(logarithm: Any) -> Any:
    def evaluate(x: Array, y: Array) -> Array:
        return numpy.where((x == 0) & ~numpy.isnan(y), 0, x * logarithm(y))

    return evaluate


def _add_exponentials(x: Array, y: Array) -> Array:
    sums = numpy.maximum(x, y) + numpy.log1p(numpy.exp(-abs(x - y)))
    return numpy.where(x == y, x + numpy.log(Long(2)), sums)


def _silu_backward(grad: Array, x: Array) -> Array:
    level = _logistic(x)
    return grad * level * (1 + x * _logistic(-x))


def _tanh_form(x: Array) -> tuple[Array, Array]:
    factor = numpy.sqrt(2 / Long(numpy.pi))
    inner = 2 * factor * (x + Long(0.044715) * x**3)
    return inner, 2 * factor * (1 + 3 * Long(0.044715) * x**2)


def _gelu_tanh_backward(grad: Array, x: Array) -> Array:
    inner, slope = _tanh_form(x)
    return grad * (_logistic(inner) + x * _logistic(inner) * _logistic(-inner) * slope)


def _mish_backward(grad: Array, x: Array) -> Array:
    level = numpy.tanh(_softplus(x))
    steep = 1 / numpy.cosh(numpy.minimum(_softplus(x), 5000)) ** 2
    return grad * (level + x * _logistic(x) * steep)


def _plain() -> dict[str, Reference]:
    names = {
        "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
        "acosh": "arccosh", "atanh": "arctanh", "round": "rint",
    }  # fmt: skip
    found = {
        name: Reference(getattr(numpy, names.get(name, name)))
        for name in (
            "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
            "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sqrt",
            "floor", "ceil", "trunc", "round",
        )
    }  # fmt: skip
    for name, function in {
        "pow": numpy.power, "fmod": numpy.fmod, "atan2": numpy.arctan2, "hypot": numpy.hypot,
        "xlogy": _xlogy(numpy.log), "special_xlog1py": _xlogy(numpy.log1p),
        "logaddexp": _add_exponentials, "silu_backward": _silu_backward,
        "gelu_tanh_backward": _gelu_tanh_backward, "mish_backward": _mish_backward,
    }.items():  # fmt: skip
        found[name] = Reference(function, 2)
    return found


def _activations() -> dict[str, Reference]:
    def soft(x: Array, beta: Array, threshold: Array) -> Array:
        return numpy.where(x * beta > threshold, x, _softplus(x * beta) / beta)

    def soft_backward(grad: Array, x: Array, beta: Array, threshold: Array) -> Array:
        return numpy.where(x * beta > threshold, grad, grad * _logistic(x * beta))

    return {
        "rsqrt": Reference(lambda x: 1 / numpy.sqrt(x)),
        "sigmoid": Reference(_logistic),
        "silu": Reference(lambda x: x * _logistic(x)),
        "log_sigmoid": Reference(lambda x: numpy.minimum(x, 0) - _softplus(-abs(x))),
        "mish": Reference(lambda x: x * numpy.tanh(_softplus(x))),
        "logit": Reference(_logit),
        "gelu_tanh": Reference(lambda x: x * _logistic(_tanh_form(x)[0])),
        "special_entr": Reference(
            lambda x: numpy.where(x < 0, -numpy.inf, -_xlogy(numpy.log)(x, x))
        ),
        "softplus": Reference(soft, 3),
        "softplus_backward": Reference(soft_backward, 4),
        "elu": Reference(_elu, 4),
    }


def _with_digits() -> dict[str, Reference]:
    from mpmath import isnan, mp, mpf

    def near(x: Any) -> Any:
        """The number, or one that is as good as it for a function that is constant out there."""
        return x if abs(x) < 1000 or isnan(x) else mp.sign(x) * 1000

    def log_gamma(x: Any) -> Any:
        if x > 0 or mp.isinf(x):
            return mp.loggamma(abs(x))
        sine = abs(x * mp.sinpi(x))
        return mp.log(mp.pi / sine) - mp.loggamma(-x) if sine else mpf("inf")

    return {
        "erf": _digits(mp.erf),
        "erfc": _digits(lambda x: mp.erfc(near(x))),
        "erfinv": _digits(mp.erfinv),
        "sinc": _digits(lambda x: mp.nan if mp.isinf(x) else mp.sincpi(x)),
        # As in PyTorch -inf has no value: it is multiplied by zero.
        "gelu": _digits(
            lambda x: x * mp.erfc(near(-x) / mp.sqrt(2)) / 2 if x > -mp.inf else mp.nan
        ),
        "special_ndtr": _digits(lambda x: mp.erfc(near(-x) / mp.sqrt(2)) / 2),
        "lgamma": _digits(log_gamma, float("inf")),
        "digamma": _digits(lambda x: mp.digamma(mpf(x)) if x > -mp.inf else mp.nan),
    }


def references(slow: bool = True) -> dict[str, Reference]:
    """All of them by name; the slow ones need `mpmath`."""
    return {**_plain(), **_activations(), **(_with_digits() if slow else {})}


def ulps(result: Array, exact: Array, least: float) -> Array:
    """Distances in units of the last place of the exact result, or of `least` if that is larger.

    Infinite where a NaN, an infinity or the sign of zero is wrong; overflow may come a step late.
    """
    dtype = result.dtype
    with numpy.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        finite = numpy.where(numpy.isfinite(rounded), abs(rounded), 1)
        bounded = numpy.maximum(finite, least).astype(dtype)
        # Half of it, because the largest number has no successor to measure to.
        unit = numpy.spacing(bounded / 2).astype(Long) * 2
        error = (abs(result - exact) / unit).astype(numpy.float64)
        infinite = numpy.isinf(rounded) | numpy.isinf(result)
        border = infinite & (abs(exact) > numpy.finfo(dtype).max * (1 - 1e-6))
        border &= abs(exact) < numpy.finfo(dtype).max * (1 + 1e-6)
        error = numpy.where(infinite, numpy.where(result == rounded, 0, numpy.inf), error)
        error = numpy.where(border, 1, error)
        error = numpy.where(numpy.isnan(rounded) ^ numpy.isnan(result), numpy.inf, error)
        error = numpy.where(numpy.isnan(rounded) & numpy.isnan(result), 0, error)
        zeros = (result == 0) & (exact == 0) & (numpy.signbit(result) ^ numpy.signbit(exact))
    return numpy.where(zeros, numpy.inf, error)


SPECIAL = (
    0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 0.5, -0.5, 2.0, -2.0, 3.0,
    -3.0, 2.5, 1e-10, -1e-10, 1e-20, 1e10, -1e10, 88.5, -87.5, -103.5, 709.5, -745.0, 20.5,
    0.9999999, 1.0000001, -0.9999999, 127.5, 1023.5, 100.0, -100.0,
)  # fmt: skip


def samples(dtype: Any, count: int, seed: int) -> Array:
    """Special numbers, borders of the format, any bits, and numbers of usual sizes."""
    generator = numpy.random.default_rng(seed)
    info = numpy.finfo(dtype)
    borders = [info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal,
               -info.smallest_subnormal, info.tiny / 8, info.eps, 1 + info.eps, 1 - info.eps]
    words = numpy.uint32 if info.bits == 32 else numpy.uint64
    part = count // 5
    bits = generator.integers(0, numpy.iinfo(words).max, part, words, endpoint=True)
    usual = [
        generator.normal(size=part) * 3,
        generator.uniform(-1.2, 1.2, part),
        10.0 ** generator.uniform(-12, 12, part) * generator.choice([-1, 1], part),
        generator.uniform(*((-110, 95) if info.bits == 32 else (-750, 715)), part),
    ]
    parts = [numpy.array(SPECIAL), numpy.array(borders), *usual]
    return numpy.concatenate([bits.view(dtype), *(each.astype(dtype) for each in parts)])
