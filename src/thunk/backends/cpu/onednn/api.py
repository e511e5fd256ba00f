"""Enters: names and arguments of C functions. Leaves: their results; errors as exceptions.

Invariant: every function is declared with its types before its first call, and no status is lost.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int64, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any, Final

from thunk.backends.cpu.onednn.codes import MOST_DIMENSIONS, STATUS
from thunk.backends.cpu.onednn.find import library

Extents = c_int64 * MOST_DIMENSIONS
_out = POINTER(c_void_p)
_extents = POINTER(c_int64)
_handle = c_void_p


class LibraryError(RuntimeError):
    """oneDNN refused a call."""


class ExecutionArgument(ctypes.Structure):
    """One tensor of an execution: which it is, and the memory object that says where it lies."""

    _fields_ = [("argument", c_int), ("memory", c_void_p)]


_STATUS_FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "engine_create": (_out, c_int, c_size_t),
    "stream_create": (_out, _handle, c_uint),
    "memory_create": (_out, _handle, _handle, c_void_p),
    "memory_destroy": (_handle,),
    "memory_set_data_handle": (_handle, c_void_p),
    "memory_desc_create_with_strides": (_out, c_int, _extents, c_int, _extents),
    "memory_desc_create_with_tag": (_out, c_int, _extents, c_int, c_int),
    "memory_desc_create_with_string_tag": (_out, c_int, _extents, c_int, c_char_p),
    "memory_desc_clone": (_out, _handle),
    "memory_desc_destroy": (_handle,),
    "memory_desc_query": (_handle, c_int, c_void_p),
    "post_ops_create": (_out,),
    "post_ops_destroy": (_handle,),
    "post_ops_append_eltwise": (_handle, c_int, c_float, c_float),
    "post_ops_append_sum": (_handle, c_float, ctypes.c_int32, c_int),
    "post_ops_append_binary": (_handle, c_int, _handle),
    "primitive_attr_create": (_out,),
    "primitive_attr_destroy": (_handle,),
    "primitive_attr_set_scratchpad_mode": (_handle, c_int),
    "primitive_attr_set_post_ops": (_handle, _handle),
    "primitive_desc_destroy": (_handle,),
    "primitive_desc_query": (_handle, c_int, c_int, c_void_p),
    "primitive_create": (_out, _handle),
    "primitive_destroy": (_handle,),
    "primitive_execute": (_handle, _handle, c_int, POINTER(ExecutionArgument)),
    "matmul_primitive_desc_create": (_out, *(_handle,) * 6),
    "reorder_primitive_desc_create": (_out, *(_handle,) * 5),
    "convolution_forward_primitive_desc_create": (
        _out, _handle, c_int, c_int, *(_handle,) * 4, *(_extents,) * 4, _handle,
    ),
    "convolution_backward_data_primitive_desc_create": (
        _out, _handle, c_int, *(_handle,) * 3, *(_extents,) * 4, _handle, _handle,
    ),
    "convolution_backward_weights_primitive_desc_create": (
        _out, _handle, c_int, *(_handle,) * 4, *(_extents,) * 4, _handle, _handle,
    ),
}  # fmt: skip

_VALUE_FUNCTIONS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "memory_desc_get_size": (c_size_t, (_handle,)),
    "memory_desc_equal": (c_int, (_handle, _handle)),
    "primitive_desc_query_md": (c_void_p, (_handle, c_int, c_int)),
}


@cache
def function(name: str) -> Any:
    """The C function `dnnl_NAME`, its types declared."""
    found = getattr(library(), f"dnnl_{name}")
    if name in _VALUE_FUNCTIONS:
        found.restype, found.argtypes = _VALUE_FUNCTIONS[name]
    else:
        found.restype, found.argtypes = c_int, _STATUS_FUNCTIONS[name]
    return found


def address(name: str) -> int:
    """Where the C function `dnnl_NAME` starts."""
    found = ctypes.cast(getattr(library(), f"dnnl_{name}"), c_void_p).value
    assert found is not None
    return found


def call(name: str, *arguments: Any, about: str = "") -> None:
    """Call a function that returns a status; `about` says what was described."""
    code = function(name)(*arguments)
    if code:
        what = STATUS.get(code, f"status {code}")
        described = f" for {about}" if about else ""
        raise LibraryError(f"dnnl_{name}: expected success, got {what}{described}")


def created(name: str, *arguments: Any, about: str = "") -> int:
    """Call a function whose first argument receives a new handle, and give the handle."""
    handle = c_void_p()
    call(name, byref(handle), *arguments, about=about)
    assert handle.value is not None
    return handle.value


def extents(values: tuple[int, ...]) -> Any:
    """Numbers in the form in which descriptors take them."""
    return Extents(*values)
