"""Enters: a reference rule of doubles, written in NumPy. Leaves: vector code that does the same.

Invariant: every case is computed; where a case does not apply its operands are NaN, which ends its
loops. A function is written once a module and called: its code is long, and rarely what takes time.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
from llvmlite import ir

from thunk.backends.cpu.llvm.math.lanes import DOUBLE, Lanes, choose
from thunk.backends.cpu.llvm.math.registry import Emitter, vector_functions
from thunk.backends.reference import special_series

Body = Callable[..., "Traced"]


class Traced(numpy.lib.mixins.NDArrayOperatorsMixin):
    """Lanes that NumPy takes for an array of doubles, or of truths."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Traced:
        if method != "__call__" or ufunc.__name__ not in _UFUNCS:
            raise NotImplementedError(f"{ufunc.__name__}.{method}: expected a function with code")
        return Traced(_UFUNCS[ufunc.__name__](*[self.lifted(each) for each in inputs]))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Traced:
        if function.__name__ not in _FUNCTIONS:
            raise NotImplementedError(f"{function.__name__}: expected a function with code")
        return Traced(_FUNCTIONS[function.__name__](*[self.lifted(each) for each in args]))

    def lifted(self, value: Any) -> Lanes:
        """An operand; a number is in every lane."""
        if isinstance(value, Traced):
            return value.lanes
        kind = self.lanes.kind_with(ir.DoubleType())
        return Lanes(self.lanes.builder, ir.Constant(kind, None)).constant(float(value))

    def copy(self) -> Traced:
        return self

    def piecewise(self, cases: Any, others: Sequence[Traced]) -> Traced:
        """The first case that holds; its operands are NaN in other lanes."""
        nothing = self.lifted(float("nan"))
        free, found = ~nothing.equals(nothing), nothing
        for mask, function in cases:
            here = mask.lanes & free
            operands = [Traced(choose(here, each.lanes, nothing)) for each in (self, *others)]
            found = choose(here, self.lifted(function(*operands)), found)
            free = free & ~mask.lanes
        return Traced(found)

    def repeated(
        self, step: Any, state: Sequence[Traced], first: int, most: int
    ) -> tuple[Traced, ...]:
        """`step` from one state to the next, while a lane is unfinished."""
        builder = self.lanes.builder
        before = builder.block
        inside, after = (builder.append_basic_block(name) for name in ("again", "done"))
        builder.branch(inside)
        builder.position_at_end(inside)
        start = [self.lifted(float(first)), *[self.lifted(each) for each in state]]
        held = []
        for each in start:
            phi = builder.phi(each.value.type)
            phi.add_incoming(each.value, before)
            held.append(Traced(Lanes(builder, phi)))
        found, unfinished = step(*held)
        following = [held[0] + 1, *[Traced(self.lifted(each)) for each in found]]
        for entry, value in zip(held, following, strict=True):
            entry.lanes.value.add_incoming(value.lanes.value, builder.block)
        go_on = builder.and_(_any(unfinished.lanes), _any((following[0] < most).lanes))
        builder.cbranch(go_on, inside, after)
        builder.position_at_end(after)
        return tuple(following[1:])


def _any(mask: Lanes) -> ir.Value:
    """Whether the mask holds in a lane."""
    if not isinstance(mask.value.type, ir.VectorType):
        return mask.value
    bits = ir.IntType(mask.value.type.count)
    return mask.builder.icmp_unsigned("!=", mask.builder.bitcast(mask.value, bits), bits(0))


def _called(name: str, emit: Emitter, *operands: Lanes) -> Lanes:
    """`emit`'s code as a function of the module, written by its first use."""
    builder, kind = operands[0].builder, operands[0].value.type
    module, full = builder.module, f"thunk.{name}.{_spelled(kind)}"
    function = module.globals.get(full)
    if function is None:
        function = ir.Function(module, ir.FunctionType(kind, [kind] * len(operands)), full)
        function.linkage = "internal"
        function.attributes.add("noinline")
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        inner.ret(emit(inner, *function.args))
    return operands[0].like(builder.call(function, [each.value for each in operands]))


def _spelled(kind: Any) -> str:
    """A type as part of a name."""
    return f"v{kind.count}f64" if isinstance(kind, ir.VectorType) else "f64"


def _function(name: str) -> Callable[..., Lanes]:
    return lambda *operands: _called(name, vector_functions[name], *operands)


def _power(base: Lanes, exponent: Lanes) -> Lanes:
    if str(exponent.value) == str(exponent.constant(2.0).value):
        return base * base
    return _called("pow", vector_functions["pow"], base, exponent)


def _remainder(x: Lanes, divisor: Lanes) -> Lanes:
    """After a division by 2, the only one that the rules need."""
    if str(divisor.value) != str(divisor.constant(2.0).value):
        raise NotImplementedError("fmod: expected the divisor 2")
    return x - (x * 0.5).trunc() * 2.0


def _least(x: Lanes, y: Lanes) -> Lanes:
    return choose((x < y) | x.is_nan(), x, y)


def _most(x: Lanes, y: Lanes) -> Lanes:
    return choose((x > y) | x.is_nan(), x, y)


def _sign(x: Lanes) -> Lanes:
    return choose(x > 0.0, 1.0, choose(x < 0.0, -1.0, x))


_UFUNCS: dict[str, Callable[..., Lanes]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "negative": lambda x: -x,
    "absolute": abs,
    "power": _power,
    "fmod": _remainder,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "equal": lambda x, y: x.equals(y),
    "not_equal": lambda x, y: ~x.equals(y),
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "invert": lambda x: ~x,
    "isnan": lambda x: x.is_nan(),
    "isinf": lambda x: abs(x).equals(float("inf")),
    "minimum": _least,
    "maximum": _most,
    "copysign": lambda x, y: x.with_sign_of(y),
    "sign": _sign,
    "sqrt": lambda x: x.sqrt(),
    "floor": lambda x: x.floor(),
    "ceil": lambda x: x.ceil(),
    "trunc": lambda x: x.trunc(),
    "rint": lambda x: x.round_to_even(),
    "arccos": _function("acos"),
    **{name: _function(name) for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan")},
}
_FUNCTIONS: dict[str, Callable[..., Lanes]] = {
    "where": choose,
    "clip": lambda x, low, high: _least(_most(x, low), high),
    "zeros_like": lambda x: x.constant(0.0),
    "ones_like": lambda x: x.constant(1.0),
    "full_like": lambda x, value: value,
}


def _emitter(name: str, body: Body) -> Emitter:
    def emit(builder: Any, *values: Any) -> Any:
        operands = [Lanes(builder, value) for value in values]
        narrow = operands[0].format is not DOUBLE
        if narrow:
            operands = [each.widened() for each in operands]
        result = _called(name, in_lanes, *operands)
        return (result.narrowed() if narrow else result).value

    def in_lanes(builder: Any, *values: Any) -> Any:
        operands = [Traced(Lanes(builder, value)) for value in values]
        with numpy.errstate(all="ignore"):
            return operands[0].lifted(body(*operands)).value

    return emit


@functools.cache
def _edition() -> str:
    """Tells the rules from older and newer ones: their code is kept on disk."""
    digest = hashlib.sha256()
    for path in sorted(Path(special_series.__file__).parent.glob("special*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def name_and_edition(name: str) -> str:
    """What a kernel's key says of a function."""
    return f"{name} {_edition()}" if name in special_functions else name


special_functions: dict[str, Emitter] = {
    name: _emitter(name, body)
    for name, (_, body) in special_series.FUNCTIONS.items()
    if name not in vector_functions
}
