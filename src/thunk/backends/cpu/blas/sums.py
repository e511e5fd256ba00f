"""Enters: a shape (samples, channels, *places). Leaves: code that sums each channel.

Invariant: the sum is kept in float64, so its error does not grow with the number of places.
"""

from __future__ import annotations

import math

from llvmlite import ir

from thunk.backends.cpu.calls.native import native
from thunk.backends.cpu.llvm.gemm_builder import POINTER, STATUS, Builder, word
from thunk.backends.cpu.llvm.strided import DOUBLE, read_element, write_element
from thunk.types.dtype import dtype


@native("sums", vectorise=True)
def channel_sums(shape: tuple[int, ...], source: dtype, target: dtype) -> str:
    """The code of `int (void **pointers, void *context)`: the sums, then the dense values."""
    samples, channels, *extents = shape
    places = math.prod(extents)
    module = ir.Module("sums")
    build = Builder(module, "sums", (POINTER, POINTER), STATUS, inner=False)
    out, values = (build.pointer_at(build.arguments[0], word(index)) for index in (0, 1))
    with build.loop(word(0), word(channels)) as channel:
        total = build.slot(DOUBLE, ir.Constant(DOUBLE, 0.0))
        with build.loop(word(0), word(samples)) as sample:
            row = build.add(build.mul(sample, word(channels)), channel)
            start = build.mul(row, word(places))
            with build.loop(start, build.add(start, word(places))) as place:
                value = read_element(build, values, source, place)
                wide = value if value.type == DOUBLE else build.ir.fpext(value, DOUBLE)
                build.ir.store(build.ir.fadd(build.ir.load(total, typ=DOUBLE), wide), total)
        write_element(build, out, target, channel, build.ir.load(total, typ=DOUBLE))
    build.ir.ret(ir.Constant(STATUS, 0))
    return str(module)
