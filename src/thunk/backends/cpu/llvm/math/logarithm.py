"""Enters: vectors. Leaves: logarithms to several bases, of the argument and of one more than it.

Invariant: `x = 2**n (1 + f)` with f in [-1/3, 1/3], and log(1 + f) is f - f**2 / 2 plus f**3 times
a polynomial.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.coefficients import COEFFICIENTS, PARTS
from thunk.backends.cpu.llvm.math.exact import Pair, exact_product, exact_sum, sum_of_ordered
from thunk.backends.cpu.llvm.math.lanes import DOUBLE, Lanes, choose, multiply_add, polynomial
from thunk.backends.cpu.llvm.math.registry import vector_function
from thunk.backends.cpu.llvm.math.scaling import exponent_bits, split, whole_exponent

INFINITY = float("inf")


def _tail(f: Lanes) -> Lanes:
    """log(1 + f) - f."""
    higher = polynomial(f, COEFFICIENTS["logarithm", f.format.bits])
    return f * f * multiply_add(f, higher, -0.5)


def _natural(f: Lanes, n: Lanes) -> Lanes:
    """log(2**n (1 + f))."""
    high, low = PARTS["log(2)", f.format.bits]
    return multiply_add(n, high, f + multiply_add(n, low, _tail(f)))


def _at_borders(x: Lanes, result: Lanes) -> Lanes:
    """The result, with what logarithms are of zero, of infinity and of what has none."""
    result = choose(x.equals(0.0), -INFINITY, result)
    result = choose(x < INFINITY, result, x)
    return choose(x < 0.0, float("nan"), result)


@vector_function("log")
def log(x: Lanes) -> Lanes:
    mantissa, n = split(x)
    return _at_borders(x, _natural(mantissa - 1.0, n))


def _to_base(f: Lanes, tail: Lanes, base: str) -> Pair:
    """f + tail times the base's logarithm of e, in two parts."""
    factor, rest = PARTS[f"{base}(e)", f.format.bits]
    high, lost = exact_product(f, f.constant(factor))
    return high, lost + multiply_add(f, rest, tail * factor)


@vector_function("log2")
def log2(x: Lanes) -> Lanes:
    mantissa, n = split(x)
    f = mantissa - 1.0
    high, low = _to_base(f, _tail(f), "log2")
    whole, lost = exact_sum(n, high)
    return _at_borders(x, whole + (lost + low))


@vector_function("log10")
def log10(x: Lanes) -> Lanes:
    mantissa, n = split(x)
    f = mantissa - 1.0
    high, low = _to_base(f, _tail(f), "log10")
    of_two, rest = PARTS["log10(2)", x.format.bits]
    whole, lost = exact_sum(n * of_two, high)
    return _at_borders(x, whole + (multiply_add(n, rest, low) + lost))


def log1p_of(x: Lanes) -> Lanes:
    """log(1 + x) of an x above -1 and below infinity."""
    form = x.format
    total = x + 1.0
    # What the sum lost, found from the larger of the two.
    lost = choose(x > 1.0, 1.0 - (total - x), x - (total - 1.0))
    exponent = exponent_bits(total.as_bits(), form)
    mantissa = (total.as_bits() - exponent).as_floats()
    # 2**-n; a large sum lost nothing that matters, and has no such power.
    inverse = (form.bits_of(1.0) - exponent).as_floats()
    inverse = choose(total < 2.0 ** (form.mantissa + 8), inverse, 0.0)
    f = multiply_add(lost, inverse, mantissa - 1.0)
    n = whole_exponent(exponent, form)
    result = _natural(f, n)
    # Near zero the function is its argument; so are the sign of zero and subnormal numbers kept.
    return choose(total.equals(1.0), x, result)


@vector_function("log1p")
def log1p(x: Lanes) -> Lanes:
    result = choose(x.equals(-1.0), -INFINITY, log1p_of(x))
    result = choose(x < INFINITY, result, x)
    return choose(x < -1.0, float("nan"), result)


def short_log2(x: Lanes) -> Pair:
    """log2 of a positive, finite double, as accurate as powers of float32 numbers ask for."""
    assert x.format is DOUBLE
    mantissa, n = split(x)
    f = mantissa - 1.0
    higher = polynomial(f, COEFFICIENTS["logarithm", 48])
    natural = multiply_add(f * f, multiply_add(f, higher, -0.5), f)
    return sum_of_ordered(n, natural * (PARTS["log2(e)", 64][0]))
