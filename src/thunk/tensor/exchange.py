"""Enters: a tensor. Leaves: Python numbers, arrays, DLPack capsules, and what Python asks of data.

Invariant: arrays and capsules share the tensor's memory; from then on it counts as foreign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from thunk.autograd.meta import requires_grad
from thunk.ops.registry import t
from thunk.runtime.storage import array_of
from thunk.tensor import dlpack
from thunk.tensor.creation import from_numpy
from thunk.types.device import CPU
from thunk.types.tensor_base import TensorBase


class Exchange(TensorBase):
    """Values, as others want them."""

    __slots__ = ()

    def _array(self) -> NDArray[Any]:
        return array_of(self._storage, self._spec)

    def numpy(self, *, force: bool = False) -> NDArray[Any]:
        """The values as an array that shares this tensor's memory."""
        if self._spec.device.type == "meta":
            raise TypeError(
                "numpy: expected a tensor with values, can't convert meta device type tensor to "
                "numpy; create it on the cpu"
            )
        if self._spec.device.type != "cpu":
            if not force:
                raise TypeError(
                    f"can't convert {self._spec.device} device type tensor to numpy. Use "
                    "Tensor.cpu() to copy the tensor to host memory first."
                )
            moved = t.to(t.detach(self), CPU)
            return array_of(moved._storage, moved._spec)
        if requires_grad(self) and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        self._storage.share()
        return self._array()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.numpy()
        if dtype is not None and array.dtype != numpy.dtype(dtype):
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(
        self, array: NDArray[Any], context: Any = None, return_scalar: bool = False
    ) -> Any:
        if array.dtype == bool:
            array = array.astype(numpy.uint8)
        return from_numpy(numpy.asarray(array))

    def __dlpack__(
        self,
        *,
        stream: int | None = -1,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        if requires_grad(self):
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        self._storage.share()
        array = self._array()
        return dlpack.to_capsule(
            array, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        if self._spec.device.type != "cpu":
            raise ValueError(f"Unknown device type {self._spec.device.type} for Dlpack")
        return dlpack.CPU_DEVICE

    def item(self) -> Any:
        """The only element as a Python number."""
        if self._spec.numel != 1:
            raise RuntimeError(
                f"item: a Tensor with {self._spec.numel} elements cannot be converted to Scalar"
            )
        if self._spec.device.type == "meta":
            raise RuntimeError("Tensor.item() cannot be called on meta tensors")
        value = self._array().reshape(())[()]
        return float(value) if self._spec.dtype.is_floating_point else value.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        if self._spec.device.type == "meta":
            raise NotImplementedError(
                "tolist: expected a tensor with values, got one on the meta device; create it on "
                "the cpu"
            )
        array = self._array()
        if self._spec.dtype.name == "bfloat16":
            array = array.astype(numpy.float32)
        return array.tolist()

    def __bool__(self) -> bool:
        if self._spec.numel == 0:
            raise RuntimeError("bool: Boolean value of Tensor with no values is ambiguous")
        if self._spec.numel > 1:
            raise RuntimeError(
                "bool: Boolean value of Tensor with more than one value is ambiguous"
            )
        return bool(self.item())

    __nonzero__ = __bool__

    def _real_item(self, name: str) -> Any:
        if self._spec.numel != 1:
            raise ValueError(
                f"{name}: expected a tensor of one element, got {self._spec.numel}: only one "
                "element tensors can be converted to Python scalars"
            )
        value = self.item()
        if isinstance(value, complex):
            if value.imag:
                raise RuntimeError(
                    f"{name}: expected a real number, got {value}: value cannot be converted to "
                    "type double without overflow; take .real first"
                )
            return value.real
        return value

    def __int__(self) -> int:
        return int(self._real_item("int"))

    __long__ = __int__

    def __float__(self) -> float:
        return float(self._real_item("float"))

    def __complex__(self) -> complex:
        value = self._real_item("complex") if self._spec.numel != 1 else self.item()
        return complex(value)

    def __index__(self) -> int:
        if self._spec.dtype.is_inexact or self._spec.numel != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __iter__(self) -> Iterator[Any]:
        if not self._spec.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(t.unbind(self, 0))

    def __reversed__(self) -> Any:
        return self if not self._spec.shape else t.flip(self, list(range(len(self._spec.shape))))

    def __contains__(self, element: Any, /) -> bool:
        if isinstance(element, (TensorBase, bool, int, float, complex)):
            return bool(t.eq(self, element).any())
        raise RuntimeError(
            f"Tensor.__contains__: expected a tensor or a number, got {type(element).__name__}; "
            "Tensor.__contains__ only supports Tensor or scalar"
        )

    def apply_(self, callable: Callable[[Any], Any]) -> Any:
        """Replace every element by what `callable` makes of it; slow, one call an element."""
        return self._each(callable)

    def map_(self, tensor: TensorBase, callable: Callable[[Any, Any], Any]) -> Any:
        """Replace every element by `callable(element, other)`; slow, one call an element."""
        return self._each(callable, tensor)

    def map2_(
        self, x: TensorBase, y: TensorBase, callable: Callable[[Any, Any, Any], Any]
    ) -> Any:
        """Replace every element by `callable(element, x, y)`; slow, one call an element."""
        return self._each(callable, x, y)

    def _each(self, function: Callable[..., Any], *others: TensorBase) -> Any:
        if requires_grad(self):
            raise TypeError("can't apply_ on a tensor that requires grad; use tensor.detach()")
        columns = [self.tolist() if not self._spec.shape else t.flatten(self).tolist()]
        for other in others:
            columns.append(t.flatten(t.expand(other, self._spec.shape)).tolist())
        if not self._spec.shape:
            columns = [each if isinstance(each, list) else [each] for each in columns]
        values = numpy.empty(self._spec.numel, self._spec.dtype.numpy)
        for place, row in enumerate(zip(*columns, strict=True)):
            values[place] = function(*row)
        return t.copy_(self, from_numpy(values.reshape(self._spec.shape)))
