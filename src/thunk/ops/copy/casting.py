"""Casts and moves between devices: `to` in all its forms, and the methods named after dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.copy.formats import in_format, suggested_format
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.places import placed
from thunk.types import dtype as dtypes
from thunk.types.layout import preserve_format, strided
from thunk.types.spec import TensorSpec


def _to_copy(
    self: TensorSpec, dtype: Any, layout: Any, device: Any, pin_memory: Any, non_blocking: bool,
    memory_format: Any,
) -> TensorSpec:  # fmt: skip
    if layout not in (None, strided):
        raise expected("the strided layout", repr(layout), "keep the tensor dense")
    if self.device.type == "meta" and device is not None and device.type != "meta":
        raise Mismatch("Cannot copy out of meta tensor; no data!", NotImplementedError)
    laid = in_format(self, memory_format)
    where = placed(device, self.device)
    return TensorSpec(laid.shape, dtype or self.dtype, laid.strides, 0, where)


def _cast_back(grad: Any, self_spec: TensorSpec) -> Any:
    """The gradient on the input's device; the engine casts it."""
    if grad.device == self_spec.device:
        return grad
    return t._to_copy(grad, device=self_spec.device)


declare(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    doc="A copy in another dtype, on another device or in another memory format.",
    spec=_to_copy,
    vjp={"self": _cast_back},
    variants="",
)


def _to(
    self: Any, dtype: Any = None, device: Any = None, copy: bool = False,
    memory_format: Any = None, layout: Any = None,
) -> Any:  # fmt: skip
    """`self` if it is all that already and no copy is asked for, else a copy that is."""
    spec: TensorSpec = self._spec
    alike = (
        dtype in (None, spec.dtype)
        and device in (None, spec.device)
        and layout in (None, strided)
        and memory_format in (None, preserve_format, suggested_format(spec))
    )
    if alike and not copy:
        return self
    copied = t._to_copy(
        self, dtype=dtype, layout=layout, device=device, memory_format=memory_format
    )
    if spec.device.type == "lazy" and copied._spec.device.type == "cpu":
        copied._storage.data  # noqa: B018  (leaving the lazy device is where programs wait)
    return copied


_FLAGS = "bool non_blocking=False, bool copy=False"
_FORMAT = "MemoryFormat? memory_format=None"


@composite(
    f"to.device(Tensor(a) self, Device device, ScalarType dtype, {_FLAGS}, {_FORMAT}) -> Tensor(a)",
    variants="method",
)
def to_device(
    self: Any, device: Any, dtype: Any, non_blocking: bool, copy: bool, memory_format: Any
) -> Any:
    """`self` on `device` as `dtype`."""
    return _to(self, dtype, device, copy, memory_format)


@composite(
    f"to.dtype(Tensor(a) self, ScalarType dtype, {_FLAGS}, {_FORMAT}) -> Tensor(a)",
    variants="method",
)
def to_dtype(self: Any, dtype: Any, non_blocking: bool, copy: bool, memory_format: Any) -> Any:
    """`self` as `dtype`."""
    return _to(self, dtype, None, copy, memory_format)


@composite(
    f"to.other(Tensor(a) self, Tensor other, {_FLAGS}, {_FORMAT}) -> Tensor(a)",
    variants="method",
)
def to_other(self: Any, other: Any, non_blocking: bool, copy: bool, memory_format: Any) -> Any:
    """`self` with the dtype and on the device of `other`."""
    return _to(self, other._spec.dtype, other._spec.device, copy, memory_format)


@composite(
    "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, "
    f"Device? device=None, bool? pin_memory=None, {_FLAGS}, {_FORMAT}) -> Tensor(a)",
    variants="method",
)
def to_dtype_layout(
    self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, non_blocking: bool,
    copy: bool, memory_format: Any,
) -> Any:  # fmt: skip
    """`self` as `dtype`, in `layout`, on `device`."""
    return _to(self, dtype, device, copy, memory_format, layout)


@composite(
    "to.prim_Device(Tensor(a) self, Device? device, ScalarType? dtype=None, "
    f"{_FLAGS}, *, {_FORMAT}) -> Tensor(a)",
    variants="method",
)
def to_prim_device(
    self: Any, device: Any, dtype: Any, non_blocking: bool, copy: bool, memory_format: Any
) -> Any:
    """`self` on `device`, as `dtype` if given."""
    return _to(self, dtype, device, copy, memory_format)


@composite("type_as(Tensor self, Tensor other) -> Tensor", variants="method")
def type_as(self: Any, other: Any) -> Any:
    """`self` with the dtype and on the device of `other`."""
    return _to(self, other._spec.dtype, other._spec.device)


def _named_cast(element: dtypes.dtype) -> Callable[..., Any]:
    def cast(self: Any, memory_format: Any = None) -> Any:
        return _to(self, element, memory_format=memory_format)

    return cast


_METHODS = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16, "int": dtypes.int32, "long": dtypes.int64,
    "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
    "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
}  # fmt: skip

for _name, _element in _METHODS.items():
    declare(
        f"{_name}(Tensor(a) self, *, {_FORMAT}) -> Tensor(a)",
        doc=f"`self` as {_element!r}.",
        decompose=_named_cast(_element),
        variants="method",
    )
