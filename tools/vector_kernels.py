"""Enters: emitters of vector functions. Leaves: functions of NumPy arrays, compiled here.

Also the judge of all float32 inputs: the float32 emitter against the float64 one, in a native loop.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy
from llvmlite import binding, ir

from thunk.backends.cpu.llvm.math import vector_functions
from thunk.backends.cpu.llvm.math.lanes import Lanes, choose
from thunk.backends.cpu.llvm.math.target import emitting_for

Features = Mapping[str, bool]

_POINTER = ir.PointerType()
_INDEX = ir.IntType(64)


def host_features(without: tuple[str, ...] = ()) -> dict[str, bool]:
    """The features of this machine, less those whose names begin in one of these ways."""
    return {
        name: has and not name.startswith(without) if without else has
        for name, has in binding.get_host_cpu_features().items()
    }


class Compiled:
    """Machine code that lives as long as this object."""

    def __init__(self, module: ir.Module, features: Features) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        target = binding.Target.from_default_triple()
        flat = ",".join(("+" if has else "-") + name for name, has in features.items())
        machine = target.create_target_machine(
            cpu=binding.get_host_cpu_name(), features=flat, opt=2, jit=True
        )
        parsed = binding.parse_assembly(str(module))
        parsed.verify()
        self.assembly = str(machine.emit_assembly(parsed))
        self._engine = binding.create_mcjit_compiler(parsed, machine)
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        return int(self._engine.get_function_address(name))


def new_module() -> ir.Module:
    module = ir.Module("vectors")
    module.triple = binding.get_default_triple()
    return module


def counted_loop(
    function: Any, count: Any, width: int, body: Callable[[Any, Any], None],
    before: Callable[[Any], None] | None = None,
) -> None:  # fmt: skip
    """Runs the body for 0, width, ... below the count; the count is at least one width."""
    entry = function.append_basic_block("entry")
    loop = function.append_basic_block("loop")
    done = function.append_basic_block("done")
    start = ir.IRBuilder(entry)
    if before is not None:
        before(start)
    start.branch(loop)
    builder = ir.IRBuilder(loop)
    index = builder.phi(_INDEX)
    index.add_incoming(ir.Constant(_INDEX, 0), entry)
    body(builder, index)
    following = builder.add(index, ir.Constant(_INDEX, width))
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
    ir.IRBuilder(done).ret_void()


def prefer_wide(function: Any) -> None:
    """Lets LLVM use the widest registers."""
    wide = '"prefer-vector-width"="512"'
    function.attributes._known = function.attributes._known | {wide}
    function.attributes.add(wide)


def compile_function(
    emit: Callable[..., Any], operands: int, dtype: Any, width: int,
    features: Features | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """The emitter as a function of that many arrays, `width` elements at a time."""
    dtype = numpy.dtype(dtype)
    features = host_features() if features is None else features
    scalar = ir.FloatType() if dtype.itemsize == 4 else ir.DoubleType()
    vector = ir.VectorType(scalar, width)
    module = new_module()
    kind = ir.FunctionType(ir.VoidType(), [_POINTER] * (operands + 1) + [_INDEX])
    function = ir.Function(module, kind, "run")
    prefer_wide(function)

    def body(builder: Any, index: Any) -> None:
        def place(pointer: Any) -> Any:
            return builder.gep(pointer, [index], source_etype=scalar)

        values = [
            builder.load(place(pointer), typ=vector, align=dtype.itemsize)
            for pointer in function.args[1:-1]
        ]
        result = emit(builder, *values)
        builder.store(result, place(function.args[0]), align=dtype.itemsize)

    with emitting_for(features):
        counted_loop(function, function.args[-1], width, body)
    compiled = Compiled(module, features)
    native = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (operands + 1), ctypes.c_int64)(
        compiled.address("run")
    )

    def run(*arrays: Any, out: Any = None) -> Any:
        size = arrays[0].size
        if size % width or out is None:
            padded = -(-size // width) * width
            full = [numpy.ones(padded, dtype) for _ in arrays]
            for target, array in zip(full, arrays):
                target[:size] = numpy.broadcast_to(array, (size,))
            result = numpy.empty(padded, dtype)
            native(result.ctypes.data, *(array.ctypes.data for array in full), padded)
            return result[:size]
        native(out.ctypes.data, *(array.ctypes.data for array in arrays), size)
        return out

    run.compiled = compiled  # type: ignore[attr-defined]
    return run


def ulps_between(near: Lanes, exact: Lanes, least: float = 2.0**-126) -> Lanes:
    """How far a float32 result is from the exact one (in float64), in units of its last place.

    Infinite where one is not a number and the other is, or where an infinity is on one side only.
    """
    wide = near.widened()
    rounded = exact.narrowed().widened()
    # The unit in the last place of the exact result; that of subnormal numbers at least.
    size = abs(exact)
    limited = choose(size < least, least, choose(size > 2.0**127, 2.0**127, size))
    unit = (limited.as_bits() & (0x7FF << 52)).as_floats() * 2.0**-23
    distance = abs(wide - exact) / unit
    same = wide.equals(rounded) & (wide.as_bits() ^ rounded.as_bits()).equals(0)
    # Overflow: what rounds to infinity may be one step short of it.
    finite_and_infinite = abs(wide).equals(float("inf")) ^ abs(rounded).equals(float("inf"))
    both_nan = near.is_nan() & exact.is_nan()
    wrong_nan = near.is_nan() ^ exact.is_nan()
    infinite = abs(rounded).equals(float("inf"))
    distance = choose(infinite & same, 0.0, distance)
    wrong_sign = wide.equals(0.0) & exact.equals(0.0) & ~same
    distance = choose(finite_and_infinite & (size > 3.4028235e38 * 1.0000002), 1e30, distance)
    distance = choose(wrong_sign, 1e20, distance)
    return choose(wrong_nan, float("inf"), choose(both_nan, 0.0, distance))


def worst_of_range(
    name: str, features: Features | None = None, width: int = 16, least: float = 2.0**-126
) -> Any:
    """A function (first, last): the worst float32 input among these bit patterns, and its error.

    The float32 emitter is judged by the float64 emitter of the same name; a stretch is a multiple
    of `width` inputs.
    """
    features = host_features() if features is None else features
    module = new_module()
    whole = ir.VectorType(ir.IntType(32), width)
    double = ir.VectorType(ir.DoubleType(), width)
    kind = ir.FunctionType(ir.VoidType(), [_POINTER, _POINTER, ir.IntType(32), _INDEX])
    function = ir.Function(module, kind, "run")
    prefer_wide(function)

    def body(builder: Any, index: Any) -> None:
        start = builder.add(function.args[2], builder.trunc(index, ir.IntType(32)))
        bits = builder.insert_element(ir.Constant(whole, ir.Undefined), start, ir.IntType(32)(0))
        zeros = ir.Constant(whole, [0] * width)
        bits = builder.shuffle_vector(bits, ir.Constant(whole, ir.Undefined), zeros)
        bits = builder.add(bits, ir.Constant(whole, list(range(width))))
        x = Lanes(builder, builder.bitcast(bits, ir.VectorType(ir.FloatType(), width)))
        emit = vector_functions[name]
        near = x.like(emit(builder, x.value))
        exact = x.like(emit(builder, x.widened().value))
        error = ulps_between(near, exact, least)
        worst = Lanes(builder, builder.load(function.args[0], typ=double, align=8))
        where = builder.load(function.args[1], typ=whole, align=4)
        larger = error > worst
        builder.store(choose(larger, error, worst).value, function.args[0], align=8)
        builder.store(builder.select(larger.value, bits, where), function.args[1], align=4)

    with emitting_for(features):
        counted_loop(function, function.args[3], width, body)
    compiled = Compiled(module, features)
    native = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int64
    )(compiled.address("run"))

    def run(first: int, count: int) -> tuple[float, float]:
        worst = numpy.full(width, -1.0)
        where = numpy.zeros(width, numpy.uint32)
        native(worst.ctypes.data, where.ctypes.data, first, count)
        best = int(worst.argmax())
        return float(worst[best]), float(where.view(numpy.float32)[best])

    run.compiled = compiled  # type: ignore[attr-defined]
    return run
