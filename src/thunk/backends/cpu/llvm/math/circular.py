"""Enters: vectors of any size. Leaves: sines, cosines, tangents.

Invariant: the argument is reduced with as many digits of 1 / (2 pi) as its size asks for, so that
the largest numbers have right sines too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from thunk.backends.cpu.llvm.math.coefficients import COEFFICIENTS, PARTS, TURNS
from thunk.backends.cpu.llvm.math.exact import (
    Pair,
    exact_product,
    exact_sum,
    product_of_pairs,
    sum_of_ordered,
)
from thunk.backends.cpu.llvm.math.lanes import (
    DOUBLE,
    SINGLE,
    Lanes,
    choose,
    multiply_add,
    polynomial,
)
from thunk.backends.cpu.llvm.math.registry import vector_function

# The distance between the beginnings of two entries of TURNS, and their lengths, in bits.
_STRIDE, _LENGTH = 10, 50


class _Angle(NamedTuple):
    """`quarter` right angles (the lowest two bits count) and the pair `rest`, at most pi / 4."""

    quarter: Lanes
    rest: Pair


def _fraction(x: Lanes) -> Lanes:
    """What is above or below the nearest whole number."""
    return x - x.round_to_even()


def _in_quarters(turns: Lanes) -> Pair:
    """The nearest number of quarter turns (shifted), and the fraction of a turn that is left."""
    shifted = multiply_add(turns, 4.0, DOUBLE.magic)
    return shifted, multiply_add(shifted - DOUBLE.magic, -0.25, turns)


def _reduced_single(x: Lanes) -> _Angle:
    """Of a float32 number in double precision: products with 29 bits of 1 / (2 pi) are exact."""
    *parts, last = PARTS["1/(2 pi)", 48]
    turns = x * last
    for part in reversed(parts):
        turns = turns + _fraction(x * part)
    shifted, left = _in_quarters(turns)
    return _Angle(shifted.as_bits(), (left * PARTS["2 pi", 64][0], left.constant(0.0)))


def _table(builder: Any) -> Any:
    """The digits of 1 / (2 pi), once a module."""
    module = builder.module
    name = "thunk.turns"
    if name in module.globals:
        return module.globals[name]
    kind = ir.ArrayType(ir.DoubleType(), len(TURNS))
    table = ir.GlobalVariable(module, kind, name)
    table.linkage = "internal"
    table.global_constant = True
    table.initializer = ir.Constant(kind, list(TURNS))
    return table


def _entries(index: Lanes) -> Lanes:
    """The table's entries at these places: a gather, which no machine is without."""
    builder = index.builder
    kind = index.value.type
    long, pointer = ir.IntType(64), ir.PointerType()
    base = builder.ptrtoint(_table(builder), long)
    places = index << 3
    if not isinstance(kind, ir.VectorType):
        address = builder.inttoptr(builder.add(base, places.value), pointer)
        return index.like(builder.load(address, typ=ir.DoubleType(), align=8))
    start = builder.insert_element(ir.Constant(kind, ir.Undefined), base, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    bases = builder.shuffle_vector(start, ir.Constant(kind, ir.Undefined), zeros)
    pointers = ir.VectorType(pointer, kind.count)
    addresses = builder.inttoptr(builder.add(bases, places.value), pointers)
    result = ir.VectorType(ir.DoubleType(), kind.count)
    mask = ir.VectorType(ir.IntType(1), kind.count)
    name = f"llvm.masked.gather.v{kind.count}f64.v{kind.count}p0"
    function = builder.module.globals.get(name)
    if function is None:
        form = ir.FunctionType(result, [pointers, ir.IntType(32), mask, result])
        function = ir.Function(builder.module, form, name)
    everywhere = ir.Constant(mask, [1] * kind.count)
    operands = [addresses, ir.IntType(32)(8), everywhere, ir.Constant(result, ir.Undefined)]
    return index.like(builder.call(function, operands))


def _reduced_double(x: Lanes) -> _Angle:
    """Of a double: four windows on the digits, from where products stop being whole turns."""
    bits = x.as_bits()
    exponent = (bits.shift_in_zeros(DOUBLE.mantissa) & 0x7FF) - (DOUBLE.bias + DOUBLE.mantissa)
    beyond = choose(exponent > 0, exponent, 0)
    # A tenth, as integers have it: right up to 1028.
    index = (beyond * 205).shift_in_zeros(11)
    near = (bits - ((index * _STRIDE) << DOUBLE.mantissa)).as_floats()
    first, lost_first = exact_product(near, _entries(index))
    scale, entry = 2.0**-_LENGTH, _LENGTH // _STRIDE
    second, lost_second = exact_product(near * scale, _entries(index + entry))
    third, lost_third = exact_product(near * scale**2, _entries(index + 2 * entry))
    fourth = near * scale**3 * _entries(index + 3 * entry)
    turns, lost = exact_sum(_fraction(first), _fraction(lost_first))
    turns, more = exact_sum(turns, _fraction(second))
    shifted, left = _in_quarters(turns)
    left, lost_left = exact_sum(left, third)
    left, lost_again = exact_sum(left, lost_second)
    low = ((fourth + lost_third) + (lost_left + lost_again)) + (lost + more)
    high, low = product_of_pairs(exact_sum(left, low), _pair(x, "2 pi"))
    # Of small numbers the products would lose digits; they are their own angles.
    small = abs(x) < 2.0**-28
    return _Angle(shifted.as_bits(), (choose(small, x, high), choose(small, 0.0, low)))


def _pair(model: Lanes, name: str) -> Pair:
    high, low = PARTS[name, model.format.bits]
    return model.constant(high), model.constant(low)


def _sine(rest: Pair) -> Lanes:
    r, low = rest
    square = r * r
    series = polynomial(square, COEFFICIENTS["sine", 64])
    return r + multiply_add(r * square, series, low * multiply_add(square, -0.5, 1.0))


def _cosine(rest: Pair) -> Lanes:
    r, low = rest
    square = r * r
    series = polynomial(square, COEFFICIENTS["cosine", 64])
    half = square * 0.5
    whole, lost = sum_of_ordered(half.constant(1.0), -half)
    return whole + (lost + multiply_add(square * square, series, -r * low))


def _short_sine(r: Lanes) -> Lanes:
    """To the accuracy of float32."""
    square = r * r
    return multiply_add(r * square, polynomial(square, COEFFICIENTS["sine", 48]), r)


def _short_cosine(r: Lanes) -> Lanes:
    square = r * r
    series = polynomial(square, COEFFICIENTS["cosine", 48])
    return multiply_add(square, multiply_add(square, series, -0.5), 1.0)


def _waves(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Sine and cosine of the angle's rest, in double precision, and its right angles."""
    if x.format is SINGLE:
        angle = _reduced_single(x.widened())
        return _short_sine(angle.rest[0]), _short_cosine(angle.rest[0]), angle.quarter
    angle = _reduced_double(x)
    return _sine(angle.rest), _cosine(angle.rest), angle.quarter


def _turned(sine: Lanes, cosine: Lanes, quarter: Lanes) -> Lanes:
    """The sine of the angle that is so many right angles larger."""
    odd = (quarter & 1).equals(1)
    size = choose(odd, cosine, sine)
    # The second bit of the number of right angles is the sign.
    return (size.as_bits() ^ ((quarter & 2) << 62)).as_floats()


def _finished(x: Lanes, result: Lanes) -> Lanes:
    """In the argument's precision; infinite angles have no sine."""
    if x.format is SINGLE:
        result = result.narrowed()
    return choose(abs(x) < float("inf"), result, float("nan"))


@vector_function("sin")
def sin(x: Lanes) -> Lanes:
    result = _finished(x, _turned(*_waves(x)))
    return choose(x.equals(0.0), x, result)


@vector_function("cos")
def cos(x: Lanes) -> Lanes:
    sine, cosine, quarter = _waves(x)
    return _finished(x, _turned(sine, cosine, quarter + 1))


@vector_function("tan")
def tan(x: Lanes) -> Lanes:
    sine, cosine, quarter = _waves(x)
    odd = (quarter & 1).equals(1)
    result = _finished(x, choose(odd, -cosine, sine) / choose(odd, sine, cosine))
    return choose(x.equals(0.0), x, result)


def half_turns(x: Lanes) -> tuple[Lanes, Lanes]:
    """sin(pi x) and cos(pi x) in double precision."""
    # Large numbers are even; they turn as zero does.
    x = choose(abs(x) < 2.0**60, x, 0.0)
    quarters = (x + x).round_to_even()
    rest = multiply_add(quarters, -0.5, x)
    within = multiply_add((quarters * 0.25).round_to_even(), -4.0, quarters)
    angle = product_of_pairs((rest, rest.constant(0.0)), _pair(x, "pi"))
    shifted = (within + DOUBLE.magic).as_bits()
    sine, cosine = _sine(angle), _cosine(angle)
    return _turned(sine, cosine, shifted), _turned(sine, cosine, shifted + 1)


@vector_function("sinc")
def sinc(x: Lanes) -> Lanes:
    wide = x.widened() if x.format is SINGLE else x
    result = half_turns(wide)[0] / (wide * PARTS["pi", 64][0])
    return choose(x.equals(0.0), 1.0, _finished(x, result))
