"""Enters: a pickle of plain containers and NumPy arrays, such as CIFAR's. Leaves: the containers.

Invariant: nothing that a pickle names is ever imported or called. The few names that such files
hold stand for records of this module; arrays are rebuilt from the records afterwards.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy


class _Record:
    """What a pickle says of one array, dtype or text: arguments and state."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_Record):
    """An array that is still a record."""


class _Buffer(_Record):
    """An array that was pickled as the bytes of its memory, and is still a record."""


class _Element(_Record):
    """A dtype that is still a record."""


class _Text(_Record):
    """Bytes that were pickled as text."""


_STAND_INS: dict[tuple[str, str], type[_Record]] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.numeric", "_frombuffer"): _Buffer,
    ("numpy._core.numeric", "_frombuffer"): _Buffer,
    ("numpy", "ndarray"): _Record,
    ("numpy", "dtype"): _Element,
    ("_codecs", "encode"): _Text,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        stand_in = _STAND_INS.get((module_name, global_name))
        if stand_in is None:
            raise pickle.UnpicklingError(
                f"expected plain containers and arrays, got the global {module_name}."
                f"{global_name}; this file is not a dataset"
            )
        return stand_in


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, _Text):
        value = value.arguments[0]
    return value.encode("latin1") if isinstance(value, str) else bytes(value)


def _rebuilt_array(record: _Array | _Buffer) -> numpy.ndarray:
    if isinstance(record, _Buffer):
        data, element, shape, order = record.arguments
        return _array(shape, element, order == "F", data)
    _, shape, element, fortran, data = record.state
    return _array(shape, element, fortran, data)


def _array(shape: Any, element: _Element, fortran: bool, data: Any) -> numpy.ndarray:
    code, order = str(element.arguments[0]), str(element.state[1])
    dtype = numpy.dtype(code)
    dtype = dtype.newbyteorder(">") if order == ">" else dtype
    if dtype.hasobject:
        raise pickle.UnpicklingError(f"expected an array of numbers, got dtype {code!r}")
    flat = numpy.frombuffer(_bytes_of(data), dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def _rebuilt(value: Any) -> Any:
    if isinstance(value, _Array | _Buffer):
        return _rebuilt_array(value)
    if isinstance(value, dict):
        return {_rebuilt(key): _rebuilt(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rebuilt(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_rebuilt(item) for item in value)
    if isinstance(value, _Text):
        return _bytes_of(value)
    return value


def read_pickled(path: str | Path) -> Any:
    """The containers and arrays in a file; any other content raises `UnpicklingError`."""
    with open(path, "rb") as file:
        records = _Reader(file, encoding="latin1").load()
    try:
        return _rebuilt(records)
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise pickle.UnpicklingError(
            f"expected arrays as NumPy pickles them, got {error}"
        ) from error
