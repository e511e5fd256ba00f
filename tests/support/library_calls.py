"""Runs library calls on ordinary arrays: packs operands into the layouts that a call chose.

In: a built call and its operands as NumPy arrays of their logical shapes. Out: what it wrote, as
float64. Results are poisoned with NaN before they are written.
"""

import numpy

from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.call import LibraryCall, aligned_bytes
from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.calls.specs import Reorder

Array = numpy.ndarray


def window(memory: Array, layout: Layout) -> Array:
    """The array that a plain layout describes."""
    assert layout.is_plain and layout.strides is not None
    size = layout.dtype.itemsize
    strides = [stride * size for stride in layout.strides]
    if 0 in layout.shape:
        return numpy.empty(layout.shape, layout.dtype.numpy)
    return numpy.ndarray(layout.shape, layout.dtype.numpy, memory, strides=strides)


def pack(values: Array, layout: Layout) -> Array:
    """Memory that holds `values` in `layout`."""
    memory = aligned_bytes(max(layout.nbytes, 1))
    values = numpy.asarray(values).reshape(layout.shape)
    if layout.is_plain:
        window(memory, layout)[...] = values.astype(layout.dtype.numpy)
        return memory
    dense = plain(layout.shape, layout.dtype)
    build(Reorder(dense, layout)).run({"source": pack(values, dense), "result": memory})
    return memory


def unpack(memory: Array, layout: Layout) -> Array:
    """The values that `memory` holds in `layout`, as float64."""
    if layout.is_plain:
        return window(memory, layout).astype(numpy.float64)
    dense = plain(layout.shape, layout.dtype)
    flat = aligned_bytes(dense.nbytes)
    build(Reorder(layout, dense)).run({"source": memory, "result": flat})
    return unpack(flat, dense)


def run(call: LibraryCall, **values: Array) -> dict[str, Array]:
    """What a call writes, by name."""
    memories = {}
    for operand in call.operands:
        if operand.name == "scratchpad":
            continue
        given = values.get(operand.name)
        if operand.access == "write":
            memory = aligned_bytes(max(operand.layout.nbytes, 1))
            memory[...] = 0xFF
        else:
            assert given is not None, operand
            memory = pack(given, operand.layout)
        memories[operand.name] = memory
    call.run(memories)
    written = [operand for operand in call.operands if operand.access != "read"]
    return {
        each.name: unpack(memories[each.name], each.layout)
        for each in written
        if each.name != "scratchpad"
    }


def rounded(values: Array, layout: Layout) -> Array:
    """`values` as the layout's element type holds them, as float64."""
    return values.astype(layout.dtype.numpy).astype(numpy.float64)
