"""Enters: old ways to make tensors. Leaves: tensors: `Tensor(2, 3)`, `LongTensor([1])`, `.type()`.

Invariant: a legacy type is a dtype with a constructor; sizes make uninitialised tensors, data is
converted to the dtype.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ir.coerce import REJECTED, to_ints
from thunk.ops.registry import t
from thunk.tensor.creation import new_from_data
from thunk.tensor.storage import TypedStorage, UntypedStorage
from thunk.types import dtype as dtypes
from thunk.types.device import CPU, device
from thunk.types.dtype import dtype, dtype_named
from thunk.types.promotion import get_default_dtype, set_default_dtype
from thunk.types.tensor_base import TensorBase


def construct(name: str, element: dtype, args: tuple[Any, ...], where: Any = None) -> Any:
    """`FloatTensor(*args)`: sizes, a Size, data, a storage or a tensor to share."""
    place = CPU if where is None else device(where)
    if not args:
        return t.empty((0,), dtype=element, device=place)
    first = args[0]
    if len(args) == 1 and not isinstance(first, int):
        return _from_one(name, element, first, place)
    sizes = to_ints(args)
    if sizes is REJECTED:
        raise TypeError(
            f"{name}(): expected sizes, data or a tensor, got "
            f"({', '.join(type(each).__name__ for each in args)}); use tensor(...)"
        )
    return t.empty(sizes, dtype=element, device=place)


def _from_one(name: str, element: dtype, data: Any, place: device) -> Any:
    if isinstance(data, TensorBase):
        if data._spec.dtype is not element:
            raise TypeError(
                f"{name}(): expected {element!r} (got {data._spec.dtype!r}); convert it with .to"
            )
        return t.alias(t.detach(data))
    if isinstance(data, (UntypedStorage, TypedStorage)):
        untyped = data if isinstance(data, UntypedStorage) else data.untyped()
        return t.set_(t.empty((0,), dtype=element), untyped)
    if type(data).__name__ == "Size":
        return t.empty(tuple(data), dtype=element, device=place)
    if isinstance(data, (float, complex)):
        raise TypeError(f"{name}(): data must be a sequence (got {type(data).__name__})")
    like = t.empty((0,), dtype=element)
    return new_from_data(like, data, element, place)


class LegacyType:
    """A tensor type of old: callable, and a class as far as `isinstance` is concerned."""

    __slots__ = ("__name__", "dtype")

    is_cuda = False
    is_sparse = False
    __module__ = "torch"

    def __init__(self, name: str, element: dtype) -> None:
        self.__name__ = name
        self.dtype = element

    def __call__(self, *args: Any, device: Any = None) -> Any:
        return construct(self.__name__, self.dtype, args, device)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, TensorBase) and value._spec.dtype is self.dtype

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        return legacy_type, (self.__name__,)


_NAMES = {
    "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
    "BFloat16Tensor": dtypes.bfloat16, "ByteTensor": dtypes.uint8, "CharTensor": dtypes.int8,
    "ShortTensor": dtypes.int16, "IntTensor": dtypes.int32, "LongTensor": dtypes.int64,
    "BoolTensor": dtypes.bool_,
}  # fmt: skip
TYPES = {name: LegacyType(name, element) for name, element in _NAMES.items()}
_NAME_OF = {element: name for name, element in _NAMES.items()}
_COMPLEX_NAMES = {dtypes.complex64: "ComplexFloatTensor", dtypes.complex128: "ComplexDoubleTensor"}


def legacy_type(name: str) -> LegacyType:
    """The legacy type called `name`, with or without its module."""
    short = name.rpartition(".")[2]
    if short == "Tensor":
        return TYPES[_NAME_OF[get_default_dtype()]]
    found = TYPES.get(short)
    if found is None or name not in (short, f"torch.{short}"):
        raise ValueError(f"type: expected a tensor type such as torch.FloatTensor, got {name!r}")
    return found


def type_name(element: dtype) -> str:
    """What `.type()` calls a dtype."""
    known = _NAME_OF.get(element) or _COMPLEX_NAMES.get(element)
    return f"torch.{known or element.name.replace('uint', 'UInt') + 'Tensor'}"


def dtype_of_type(kind: Any) -> dtype:
    """The dtype that the argument of `.type(...)` means."""
    if isinstance(kind, dtype):
        return kind
    if isinstance(kind, LegacyType):
        return kind.dtype
    if isinstance(kind, str):
        for element, name in _COMPLEX_NAMES.items():
            if kind == f"torch.{name}":
                return element
        return legacy_type(kind).dtype
    if isinstance(kind, type) and issubclass(kind, TensorBase):
        return get_default_dtype()
    if kind in (float, int, bool, complex):
        return dtype_named({float: "float64", int: "int64"}.get(kind, kind.__name__))
    raise TypeError(
        f"type(): argument 'dtype' must be str, dtype or a tensor type, not {type(kind).__name__}"
    )


def set_default_tensor_type(t: Any) -> None:
    """Change the dtype of new floating point tensors, named by a legacy type."""
    element = dtype_of_type(t)
    if not element.is_floating_point:
        raise expected("a floating point type", type_name(element), kind=TypeError).named(
            "set_default_tensor_type"
        )
    set_default_dtype(element)


class Legacy(TensorBase):
    """Methods of old."""

    __slots__ = ()

    def type(self, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
        """The name of the tensor's type, or the tensor converted to another."""
        if dtype is None:
            return type_name(self._spec.dtype)
        tensor: Any = self
        return tensor.to(dtype_of_type(dtype), non_blocking=non_blocking)

    def new(self, *args: Any, device: Any = None) -> Any:
        """A tensor of the same dtype, from sizes or data."""
        return construct("new", self._spec.dtype, args, device or self._spec.device)

    def new_tensor(
        self,
        data: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **_: Any,
    ) -> Any:
        """A copy of `data`, otherwise like this tensor."""
        made = new_from_data(self, data, dtype, None if device is None else _device(device))
        return made.requires_grad_() if requires_grad else made

    def resize(self, *sizes: Any) -> Any:
        """The elements in another shape; `reshape` is the modern form."""
        tensor: Any = self
        shape = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
        return tensor.reshape(shape)

    def resize_as(self, tensor: TensorBase) -> Any:
        """The elements in the shape of another tensor; `reshape` is the modern form."""
        return self.resize(tensor._spec.shape)

    def storage_type(self) -> Any:
        """The class of `storage()`."""
        return TypedStorage


_device = device
