"""Enters: arrays. Leaves: the addresses of their first elements, in a table.

Invariant: `gather` gives what `array.ctypes.data` gives; where NumPy's arrays are laid out in an
unknown way, it asks each array.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy

from thunk.backends.cpu.llvm.jit import loader

_TEXT = """
define void @NAME(ptr %objects, ptr %table, i64 %count) {
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %next, label %done
next:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %object.at = getelementptr i64, ptr %objects, i64 %i
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
    """The native loop, or None where it does not find what arrays say of themselves."""
    kind = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    name = "thunk_gather"
    function = kind(loader().address(name, _TEXT, lambda: _TEXT.replace("NAME", name)))
    probes: list[numpy.ndarray] = [numpy.zeros(3), numpy.zeros((2, 2))[1:], numpy.zeros(0)]
    table = numpy.zeros(len(probes), numpy.int64)
    found = array("Q", map(id, probes))
    function(found.buffer_info()[0], table.ctypes.data, len(probes))
    right = [probe.ctypes.data for probe in probes] == table.tolist()
    return function if right else None


def gather(arrays: Sequence[numpy.ndarray], table: int) -> None:
    """Write the address of every array into the table at address `table`."""
    native = _native()
    if native is not None:
        found = array("Q", map(id, arrays))
        native(found.buffer_info()[0], table, len(arrays))
        return
    words = (ctypes.c_int64 * len(arrays)).from_address(table)
    for position, each in enumerate(arrays):
        words[position] = each.ctypes.data
