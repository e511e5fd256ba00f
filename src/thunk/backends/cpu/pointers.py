"""Enters: arrays. Leaves: the addresses of their first elements, in a table.

Invariant: `gather` gives what `array.ctypes.data` gives; where lists or NumPy's arrays are laid out
in an unknown way, it asks each array.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy

from thunk.backends.cpu.llvm.jit import loader

_TEXT = """
define void @NAME(ptr %list, ptr %table) {
entry:
  %count.at = getelementptr i8, ptr %list, i64 16
  %count = load i64, ptr %count.at
  %items.at = getelementptr i8, ptr %list, i64 24
  %items = load ptr, ptr %items.at
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %next, label %done
next:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %object.at = getelementptr ptr, ptr %items, i64 %i
  %object = load ptr, ptr %object.at
  %data.at = getelementptr i8, ptr %object, i64 16
  %data = load i64, ptr %data.at
  %into = getelementptr i64, ptr %table, i64 %i
  store i64 %data, ptr %into
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %done
done:
  ret void
}
"""


@cache
def _native() -> Any:
    """The native loop, or None where it does not find what lists and arrays say of themselves."""
    if sys.implementation.name != "cpython":
        return None  # elsewhere `id` is no address
    probes: list[numpy.ndarray] = [numpy.zeros(3), numpy.zeros((2, 2))[1:], numpy.zeros(0)]
    first = [ctypes.c_int64.from_address(id(probes) + offset).value for offset in (16, 24)]
    if first[0] != len(probes):
        return None
    held = [ctypes.c_int64.from_address(first[1] + 8 * each).value for each in range(3)]
    if held != [id(probe) for probe in probes]:
        return None
    kind = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    name = "thunk_gather"
    function = kind(loader().address(name, _TEXT, lambda: _TEXT.replace("NAME", name)))
    table = numpy.zeros(len(probes), numpy.int64)
    function(id(probes), table.ctypes.data)
    right = [probe.ctypes.data for probe in probes] == table.tolist()
    return function if right else None


def gather(arrays: list[numpy.ndarray], table: int) -> None:
    """Write the address of every array into the table at address `table`."""
    native = _native()
    if native is not None:
        native(id(arrays), table)
        return
    words = (ctypes.c_int64 * len(arrays)).from_address(table)
    for position, each in enumerate(arrays):
        words[position] = each.ctypes.data
