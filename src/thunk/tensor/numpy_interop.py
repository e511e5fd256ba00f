"""Enters: what a user hands to `tensor(...)`. Leaves: a fresh array and its inferred dtype.

Invariant: shape comes from the first items, the dtype from all of them, and only then are values
stored; each step raises what PyTorch raises at the same step, and names the position.
"""

from __future__ import annotations

import warnings
from functools import reduce
from itertools import chain
from typing import Any

import numpy
from numpy.typing import NDArray

from thunk.base.errors import Mismatch, expected
from thunk.tensor.dlpack import from_dlpack_object
from thunk.tensor.elements import Position, ReadTensor, Row, text_of
from thunk.types import dtype as dtypes
from thunk.types.casting import cast_array
from thunk.types.dtype import dtype, from_numpy_dtype
from thunk.types.promotion import get_default_dtype, promote_types
from thunk.types.tensor_base import is_tensor

_NUMPY_MAX_DIMENSIONS = 64
_TEXT = (str, bytes)
_PYTHON_NUMBERS = frozenset({bool, int, float, complex})
_PLAIN_SEQUENCES = frozenset({list, tuple})


def array_from_object(
    data: Any, *, read_tensor: ReadTensor, dtype: dtype | None = None, op: str = "tensor"
) -> tuple[NDArray[Any], dtype]:
    """A new array with the values of `data`, and its dtype (inferred unless it is given).

    `data` is a number, an array, a tensor, an object with `__dlpack__`, or nested sequences of
    numbers and one-element tensors. `read_tensor` gives the array of a tensor.
    """
    try:
        whole = _whole_array(data, read_tensor)
        if whole is not None:
            own = from_numpy_dtype(whole.dtype)
            # A copy keeps the layout, except that repeated elements get places of their own.
            distinct = numpy.ascontiguousarray(whole) if 0 in whole.strides else whole
            return cast_array(distinct, dtype or own), dtype or own
        if isinstance(data, _TEXT):
            raise _not_a_number(data)
        shape = _shape_of(data)
        element = dtype or _infer(data, read_tensor)
        array = numpy.empty(shape, element.numpy)
        if array.size:
            filler = _Filler(array, Row(element, read_tensor), read_tensor)
            filler.fill(data, 0, ())
        return array, element
    except Mismatch as mismatch:
        raise mismatch.named(op) from mismatch.__cause__


def infer_dtype(data: Any, *, read_tensor: ReadTensor, op: str = "tensor") -> dtype:
    """The dtype that `array_from_object` would choose."""
    try:
        whole = _whole_array(data, read_tensor)
        return _infer(data, read_tensor) if whole is None else from_numpy_dtype(whole.dtype)
    except Mismatch as mismatch:
        raise mismatch.named(op) from mismatch.__cause__


def array_to_share(source: object) -> NDArray[Any]:
    """`source`, which `from_numpy` is about to share memory with."""
    if not isinstance(source, numpy.ndarray):
        raise expected(
            "a numpy.ndarray", type(source).__name__, "use tensor(...) for other data", TypeError
        ).named("from_numpy")
    if not source.flags.writeable:
        warnings.warn(
            "from_numpy: expected a writable array, got a read-only one; writing to the tensor is "
            "undefined: copy the array first",
            UserWarning,
            stacklevel=3,
        )
    return source


def _whole_array(data: Any, read_tensor: ReadTensor) -> NDArray[Any] | None:
    if is_tensor(data):
        return read_tensor(data)
    if isinstance(data, numpy.ndarray):
        return numpy.asarray(data)
    if hasattr(type(data), "__dlpack__"):
        return from_dlpack_object(data)
    return None


def _not_a_number(value: object) -> Mismatch:
    return expected(
        "numbers", f"invalid data type '{type(value).__name__}'", "convert it first", TypeError
    )


def _is_sequence(node: object) -> bool:
    """Whether C code would index `node`: the classes below have keys or no items instead."""
    if isinstance(node, (list, tuple, str)):
        return True
    if isinstance(node, (dict, numpy.generic)) or is_tensor(node):
        return False
    return hasattr(type(node), "__getitem__")


def _shape_of(data: Any) -> tuple[int, ...]:
    shape: list[int] = []
    node = data
    while _is_sequence(node):
        kind = type(node).__name__
        shape.append(len(node))
        if len(shape) > _NUMPY_MAX_DIMENSIONS:
            raise expected(
                f"at most {_NUMPY_MAX_DIMENSIONS} dimensions",
                f"too many dimensions '{kind}'",
                "nest the data less deeply",
                ValueError,
            )
        if not shape[-1]:
            break
        try:
            node = node[0]
        except Exception as cause:
            message = f"expected a sequence, could not determine the shape of object type '{kind}'"
            raise Mismatch(message, ValueError) from cause
    return tuple(shape)


def _infer(value: Any, read_tensor: ReadTensor) -> dtype:
    if isinstance(value, _TEXT):
        raise _not_a_number(value)
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return from_numpy_dtype(value.dtype)
    if is_tensor(value):
        return from_numpy_dtype(read_tensor(value).dtype)
    for kind in (bool, int, float, complex):
        if isinstance(value, kind):
            return _of_python(kind)
    if _is_sequence(value):
        return _infer_items(value, read_tensor)
    kind_name = type(value).__name__
    message = f"expected numbers or nested sequences of them. Could not infer dtype of {kind_name}"
    raise Mismatch(message, RuntimeError)


def _infer_items(sequence: Any, read_tensor: ReadTensor) -> dtype:
    items = sequence if isinstance(sequence, (list, tuple)) else list(sequence)
    kinds = set(map(type, items))
    if not kinds:
        return get_default_dtype()
    if kinds <= _PYTHON_NUMBERS:
        return reduce(promote_types, map(_of_python, kinds))
    if kinds <= _PLAIN_SEQUENCES:
        inner = set(map(type, chain.from_iterable(items)))
        if inner <= _PYTHON_NUMBERS and all(items):
            return reduce(promote_types, map(_of_python, inner))
    common: dtype | None = None
    for item in items:
        if item is sequence:
            raise Mismatch("expected a sequence that does not contain itself", TypeError)
        element = _infer(item, read_tensor)
        common = element if common is None else _promoted(common, element)
        if common is dtypes.complex128:
            break
    assert common is not None  # there are items
    return common


def _promoted(first: dtype, second: dtype) -> dtype:
    try:
        return promote_types(first, second)
    except RuntimeError as cause:
        raise Mismatch(f"expected items of dtypes that promote: {cause}") from cause


def _of_python(kind: type) -> dtype:
    if kind is float:
        return get_default_dtype()
    if kind is complex:
        return get_default_dtype().to_complex()
    return dtypes.bool_ if kind is bool else dtypes.int64


class _Filler:
    """Stores nested items in an array, in row-major order."""

    def __init__(self, array: NDArray[Any], row: Row, read_tensor: ReadTensor) -> None:
        self._shape = array.shape
        self._flat = array.reshape(-1)
        self._next = 0
        self._row = row
        self._read_tensor = read_tensor

    def fill(self, node: Any, depth: int, position: Position) -> None:
        if depth == len(self._shape):
            self._flat[:] = self._row.single(node)
            return
        items = self._items(node, position)
        length = len(items)
        if length != self._shape[depth]:
            # The words up to the bracket are PyTorch's, for those who match on them.
            message = (
                f"expected sequence of length {self._shape[depth]} at dim {depth} (got {length}), "
                f"got it at {text_of(position)}; give all sequences of a dim the same length"
            )
            raise Mismatch(message, ValueError)
        if depth == len(self._shape) - 1:
            self._flat[self._next : self._next + length] = self._row.converted(items, position)
            self._next += length
            return
        if depth == len(self._shape) - 2 and self._fill_rows(items, position):
            return
        for index, item in enumerate(items):
            self.fill(item, depth + 1, (*position, index))

    def _fill_rows(self, rows: Any, position: Position) -> bool:
        """Store many rows of Python numbers at once; tells whether it did."""
        if not _PLAIN_SEQUENCES.issuperset(map(type, rows)):
            return False
        if set(map(len, rows)) != {self._shape[-1]}:
            return False
        items = list(chain.from_iterable(rows))
        if not self._row.is_quick(items):
            return False
        try:
            stored = self._row.converted(items, position)
        except Mismatch:
            # Row by row, the complaint names the position.
            return False
        self._flat[self._next : self._next + len(items)] = stored
        self._next += len(items)
        return True

    def _items(self, node: Any, position: Position) -> Any:
        if isinstance(node, (list, tuple)):
            return node
        if is_tensor(node):
            node = self._read_tensor(node)
        if isinstance(node, numpy.ndarray) and node.ndim:
            return node
        try:
            return list(node)
        except TypeError as cause:
            got = f"{type(node).__name__}, not a sequence"
            where = f"a sequence at {text_of(position)}"
            raise expected(where, got, "nest all items equally deep", TypeError) from cause
