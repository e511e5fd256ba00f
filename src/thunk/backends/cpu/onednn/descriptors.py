"""Enters: layouts, or descriptors that a primitive chose. Leaves: the other of the two.

Invariant: a layout that comes from a descriptor gives an equal descriptor back, in any process.
"""

from __future__ import annotations

import ctypes
from itertools import permutations

from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.onednn import api
from thunk.backends.cpu.onednn.codes import (
    ANY_FORMAT,
    BLOCKED_FORMAT,
    DATA_TYPE_OF,
    DATA_TYPES,
    MOST_DIMENSIONS,
    Query,
)
from thunk.backends.cpu.onednn.handles import Handle, made


def descriptor(layout: Layout) -> Handle:
    """The library's descriptor of a layout or of a wish."""
    code = DATA_TYPES.get(layout.dtype)
    if code is None:
        raise api.LibraryError(f"oneDNN: expected float32, bfloat16, float16 or int8, got {layout}")
    shape = layout.shape
    head = (len(shape), api.extents(shape), code)
    about = layout.key
    if layout.strides is None:
        return made("memory_desc", "memory_desc_create_with_tag", *head, ANY_FORMAT, about=about)
    if layout.is_plain:
        strides = api.extents(layout.strides)
        maker = "memory_desc_create_with_strides"
        return made("memory_desc", maker, *head, strides, about=about)
    for tag in _tags(layout):
        found = made("memory_desc", "memory_desc_create_with_string_tag", *head, tag.encode())
        if layout_of(found.pointer) == layout:
            return found
    raise api.LibraryError(f"oneDNN: expected a layout that a tag describes, got {about}")


def _tags(layout: Layout) -> list[str]:
    """What the library may call a blocked layout: axes from far to near, then the blocks.

    Axes of one element leave the order open, so there may be several.
    """
    assert layout.strides is not None
    strides = layout.strides
    blocked = {axis for axis, _ in layout.blocks}
    inner = "".join(f"{size}{chr(ord('a') + axis)}" for axis, size in layout.blocks)
    axes = sorted(range(len(strides)), key=lambda axis: -strides[axis])
    sorted_strides = [strides[axis] for axis in axes]
    orders = [axes]
    if len(set(sorted_strides)) < len(axes):
        orders += [
            list(order)
            for order in permutations(range(len(axes)))
            if [strides[axis] for axis in order] == sorted_strides
        ]
    letters = [chr(ord("A" if axis in blocked else "a") + axis) for axis in range(len(axes))]
    return ["".join(letters[axis] for axis in order) + inner for order in orders]


def _number(pointer: int, query: Query) -> int:
    value = ctypes.c_int(0)
    api.call("memory_desc_query", pointer, query, ctypes.byref(value), about=query.name)
    return value.value


def _numbers(pointer: int, query: Query, count: int) -> tuple[int, ...]:
    values = ctypes.POINTER(ctypes.c_int64)()
    api.call("memory_desc_query", pointer, query, ctypes.byref(values), about=query.name)
    return tuple(values[:count])


def layout_of(pointer: int) -> Layout:
    """The layout that a descriptor describes."""
    count = _number(pointer, Query.DIMENSIONS)
    if not 0 < count <= MOST_DIMENSIONS:
        raise api.LibraryError(f"oneDNN: expected a tensor, got {count} dimensions")
    if _number(pointer, Query.FORMAT) != BLOCKED_FORMAT:
        raise api.LibraryError("oneDNN: expected strides and blocks, got an opaque format")
    shape = _numbers(pointer, Query.EXTENTS, count)
    dtype = DATA_TYPE_OF[_number(pointer, Query.DATA_TYPE)]
    strides = _numbers(pointer, Query.STRIDES, count)
    padded = _numbers(pointer, Query.PADDED_EXTENTS, count)
    depth = _number(pointer, Query.BLOCK_COUNT)
    if not depth and padded == shape:
        return plain(shape, dtype, strides)
    sizes = _numbers(pointer, Query.BLOCK_SIZES, depth)
    axes = _numbers(pointer, Query.BLOCK_AXES, depth)
    blocks = tuple(zip(axes, sizes))
    return Layout(shape, dtype, strides, blocks, () if padded == shape else padded)
