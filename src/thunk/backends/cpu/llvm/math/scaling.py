"""Enters: vectors and whole exponents. Leaves: products with powers of two, and numbers so split.

Invariant: a `shifted` exponent is the whole number plus `Format.magic`: one addition rounds to it,
and its lowest bits are the exponent as an integer.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from thunk.backends.cpu.llvm.math.lanes import DOUBLE, SINGLE, Format, Lanes, choose
from thunk.backends.cpu.llvm.math.target import machine


def constant_for(form: Format, single: float, double: float) -> float:
    return single if form is SINGLE else double


def power_of_two(shifted: Lanes) -> Lanes:
    """2 to the shifted exponent, which is that of a normal number."""
    form = shifted.format
    return ((shifted.as_bits() << form.mantissa) + form.bits_of(1.0)).as_floats()


def scaled(x: Lanes, shifted: Lanes) -> Lanes:
    """`x` times 2 to the shifted exponent, rounded once however small, infinite if too large."""
    form = x.format
    kind = x.value.type
    if machine().scales and isinstance(kind, ir.VectorType) and kind.count * form.bits >= 128:
        exponent = shifted - form.magic
        return x.like(_scale_in_parts(x.builder, x.value, exponent.value, form))
    exponent = shifted.as_bits() - form.bits_of(form.magic)
    half = exponent >> 1
    return x * _power(half, form) * _power(exponent - half, form)


def _power(exponent: Lanes, form: Format) -> Lanes:
    return ((exponent + form.bias) << form.mantissa).as_floats()


def _scale_in_parts(builder: Any, value: Any, exponent: Any, form: Format) -> Any:
    """The instruction on registers of at most 512 bits, put together again."""
    count = value.type.count
    if count * form.bits <= 512:
        return _scale_instruction(builder, value, exponent, form)
    undefined = ir.Constant(value.type, ir.Undefined)
    places = ir.VectorType(ir.IntType(32), count // 2)
    first = ir.Constant(places, list(range(count // 2)))
    second = ir.Constant(places, list(range(count // 2, count)))
    parts = [
        _scale_in_parts(
            builder,
            builder.shuffle_vector(value, undefined, mask),
            builder.shuffle_vector(exponent, undefined, mask),
            form,
        )
        for mask in (first, second)
    ]
    everything = ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(count)))
    return builder.shuffle_vector(*parts, everything)


def _scale_instruction(builder: Any, value: Any, exponent: Any, form: Format) -> Any:
    kind = value.type
    bits = kind.count * form.bits
    letter = "s" if form is SINGLE else "d"
    name = f"llvm.x86.avx512.mask.scalef.p{letter}.{bits}"
    mask = ir.IntType(max(8, kind.count))
    operands: list[Any] = [value, exponent, value, ir.Constant(mask, -1)]
    kinds: list[Any] = [kind, kind, kind, mask]
    if bits == 512:
        # The rounding mode that the processor is in.
        operands.append(ir.Constant(ir.IntType(32), 4))
        kinds.append(ir.IntType(32))
    module = builder.module
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, ir.FunctionType(kind, kinds), name)
    return builder.call(function, operands)


def split(x: Lanes) -> tuple[Lanes, Lanes]:
    """A positive number as `m * 2**n`, m in [2/3, 4/3); n as a floating-point number.

    What comes of zero, of negative numbers and of those that are not finite has no meaning.
    """
    form = x.format
    # Subnormal numbers are made normal first.
    small = x < form.least_normal
    raised = float(form.mantissa + 2)
    normal = choose(small, x * 2.0**raised, x)
    mantissa, exponent = split_normal(normal)
    return mantissa, choose(small, exponent - raised, exponent)


def split_normal(x: Lanes) -> tuple[Lanes, Lanes]:
    """The same of a number that is normal."""
    form = x.format
    bits = x.as_bits()
    exponent = exponent_bits(bits, form)
    mantissa = (bits - exponent).as_floats()
    return mantissa, whole_exponent(exponent, form)


def exponent_bits(bits: Lanes, form: Format) -> Lanes:
    """The exponent of a number's bits, in its place, such that the rest is in [2/3, 4/3)."""
    field = -(1 << form.mantissa)
    return (bits - form.bits_of(2.0 / 3.0)) & field


def whole_exponent(exponent: Lanes, form: Format) -> Lanes:
    """An exponent in its place, as a floating-point number."""
    if form is SINGLE:
        return exponent.to_floats() * 2.0**-form.mantissa
    # Few machines turn 64-bit integers into numbers; the lowest bits of a magic one are one.
    whole = (exponent >> form.mantissa) + DOUBLE.bits_of(DOUBLE.magic)
    return whole.as_floats() - DOUBLE.magic
