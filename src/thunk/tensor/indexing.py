"""Enters: what stands in brackets behind a tensor. Leaves: views, gathered copies, writes.

Invariant: basic indices become view operators and tensors one `index` or `index_put`, in PyTorch's
order, so that a write goes through the same views as a read.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from types import EllipsisType
from typing import Any

import numpy

from thunk.ops.registry import t
from thunk.tensor.creation import tensor
from thunk.types.dtype import bool_, int64, uint8
from thunk.types.tensor_base import TensorBase

_LONGEST_TUPLE_LIKE_LIST = 32
_NUMBERS = (bool, int, float, complex, numpy.integer)


def get_item(self: Any, index: Any) -> Any:
    """`self[index]`: a view where all is basic, a copy where a tensor or list takes part."""
    view, indices = _apply(self, _as_tuple(index))
    if indices:
        return t.index(view, indices)
    return t.alias(self) if view is self else view


def set_item(self: Any, index: Any, value: Any) -> None:
    """`self[index] = value`: a number or a tensor that broadcasts, leading ones left out."""
    if not isinstance(value, (TensorBase, *_NUMBERS)):
        raise TypeError(
            f"can't assign a {_name_of(value)} to a tensor of dtype {self.dtype!r}; expected a "
            "number or a tensor, convert it with tensor(...)"
        )
    if index is False:
        return
    view, indices = _apply(self, _as_tuple(index))
    if isinstance(value, TensorBase):
        value = _without_leading_ones(value)
    if indices:
        if not isinstance(value, TensorBase):
            value = t.fill(t.empty((), dtype=view.dtype, device=view.device), value)
        view.index_put_(indices, value)
    elif isinstance(value, TensorBase):
        view.copy_(value)
    else:
        view.fill_(value)


def delete_item(self: Any, index: Any) -> None:
    """Tensors keep all their elements."""
    raise TypeError("Tensor does not support deleting items")


def _name_of(value: Any) -> str:
    cls = type(value)
    return f"numpy.{cls.__name__}" if cls.__module__ == "numpy" else cls.__name__


def _without_leading_ones(value: Any) -> Any:
    shape = value._spec.shape
    lead = 0
    while lead < len(shape) and shape[lead] == 1:
        lead += 1
    return t.reshape(value, shape[lead:]) if lead else value


def _as_tuple(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    return tuple(index) if _stands_for_tuple(index) else (index,)


def _stands_for_tuple(index: Any) -> bool:
    """PyTorch reads a short list as a tuple if something in it is more than a number."""
    if not isinstance(index, list) or len(index) >= _LONGEST_TUPLE_LIKE_LIST:
        return False
    return any(
        each is None or isinstance(each, (EllipsisType, slice, TensorBase)) or _is_sequence(each)
        for each in index
    )


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (list, tuple, range, str, numpy.ndarray)):
        return True
    names = ("__getitem__", "__len__")
    return all(hasattr(value, name) for name in names) and not hasattr(value, "keys")


def _specified(items: tuple[Any, ...]) -> int:
    """How many dimensions `items` speak of."""
    count = 0
    for item in items:
        if isinstance(item, TensorBase) and item._spec.dtype in (bool_, uint8):
            count += item._spec.ndim
        elif item is not None and item is not Ellipsis and not isinstance(item, bool):
            count += 1
    return count


class _Walk:
    """The dimensions of a tensor passed one by one."""

    def __init__(self, source: Any) -> None:
        self.view = source
        self.dim = 0
        self.indices: list[Any] = []
        self._covered = 0  # dimensions of the view that `indices` speak of

    def record(self, index: Any) -> None:
        """Index the present dimension, or as many as a mask has, with a tensor."""
        self.indices += [None] * (self.dim - self._covered)
        self.indices.append(index)
        is_mask = index._spec.dtype in (bool_, uint8)
        self.dim += index._spec.ndim if is_mask else 1
        self._covered = self.dim

    def select(self, index: int) -> None:
        spec = self.view._spec
        if self.dim == 0 and not spec.shape:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to "
                "a number"
            )
        size = spec.shape[self.dim]
        if not -size <= index < size:
            raise IndexError(
                f"index {index} is out of bounds for dimension {self.dim} with size {size}"
            )
        self.view = t.select(self.view, self.dim, index)

    def slice(self, item: slice) -> None:
        start, stop, step = _slice_numbers(item)
        spec = self.view._spec
        if not spec.shape:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        size = spec.shape[self.dim]
        whole = start in (None, 0) and step == 1 and (stop is None or stop >= size)
        if not whole:
            self.view = t.slice(self.view, self.dim, start, stop, step)
        self.dim += 1

    def insert(self) -> None:
        self.view = t.unsqueeze(self.view, self.dim)

    def truth(self, value: bool) -> None:
        """A single truth value: a new dimension of one or no elements."""
        self.insert()
        self.record(t.zeros((1 if value else 0,), dtype=int64, device=self.view.device))


def _apply(self: Any, items: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """The view that the basic items give, and the tensors that index its dimensions."""
    items = tuple(_with_tensors(items))
    ndim = self._spec.ndim
    specified = _specified(items)
    if specified > ndim:
        if ndim == 0:
            _refuse_scalar(items)
        raise IndexError(
            f"index: too many indices for tensor of dimension {ndim} (got {specified})"
        )
    walk = _Walk(self)
    for item in items:
        if item is None:
            walk.insert()
            walk.dim += 1
        elif item is Ellipsis:
            walk.dim += ndim - specified
        elif isinstance(item, bool):
            walk.truth(item)
        elif isinstance(item, slice):
            walk.slice(item)
        elif isinstance(item, TensorBase):
            _by_tensor(walk, item)
        else:
            walk.select(item)
    return walk.view, walk.indices


def _refuse_scalar(items: tuple[Any, ...]) -> None:
    walk = _Walk(t.zeros(()))
    for item in items:
        if isinstance(item, slice):
            walk.slice(item)
        elif isinstance(item, int):
            walk.select(item)


def _with_tensors(items: tuple[Any, ...]) -> Iterator[Any]:
    """The items, with sequences made tensors and whatever is a number made an int."""
    for item in items:
        if item is None or isinstance(item, (bool, slice, EllipsisType, TensorBase)):
            yield item
        elif isinstance(item, (int, numpy.integer)):
            yield int(item)
        elif _is_sequence(item):
            yield _sequence_to_tensor(item)
        else:
            yield _whole(item)


def _whole(item: Any) -> int:
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {_name_of(item)})"
        ) from None


def _sequence_to_tensor(item: Any) -> Any:
    if isinstance(item, str):
        raise TypeError(f"index: expected indices, got the text {item!r}: invalid data type 'str'")
    found = tensor(list(item) if isinstance(item, range) else item)
    return found if found.dtype in (bool_, uint8) else found.to(int64)


def _by_tensor(walk: _Walk, index: Any) -> None:
    spec = index._spec
    if spec.shape or spec.dtype.is_inexact:
        walk.record(index)
    elif spec.dtype in (bool_, uint8):
        walk.truth(bool(index.item()))
    else:
        walk.select(index.item())


def _slice_numbers(item: slice) -> tuple[int | None, int | None, int]:
    def number(value: Any) -> int | None:
        if value is None:
            return None
        try:
            return operator.index(value)
        except TypeError:
            raise TypeError(
                "slice indices must be integers or None or have an __index__ method, got "
                f"{_name_of(value)}"
            ) from None

    step = number(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step is not None and step < 0:
        raise ValueError("step must be greater than zero; use flip(...)")
    return number(item.start), number(item.stop), 1 if step is None else step
