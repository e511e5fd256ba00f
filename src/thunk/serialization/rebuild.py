"""Enters: what a checkpoint says of a tensor. Leaves: the tensor, a window into a loaded storage.

Invariant: a window that a file describes lies inside its storage, or it is refused.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd import api
from thunk.base.errors import expected
from thunk.runtime.storage import Storage
from thunk.runtime.tensors import new_tensor
from thunk.serialization.names import builder, builders
from thunk.tensor.copies import Copies
from thunk.tensor.storage import TypedStorage
from thunk.types.device import CPU, META
from thunk.types.dtype import dtype
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase


def _sizes(values: Any, what: str) -> tuple[int, ...]:
    sizes = tuple(values)
    if not all(type(each) is int and each >= 0 for each in sizes):
        raise expected(f"{what} that are ints and not negative", sizes).named("load")
    return sizes


def _window(storage: Any, element: Any, offset: Any, size: Any, stride: Any, asks_grad: Any) -> Any:
    """The tensor of those strides in the memory of `storage`."""
    if not isinstance(storage, TypedStorage) or not isinstance(element, dtype):
        raise expected("a storage and a dtype", (type(storage), element)).named("load")
    shape, strides = _sizes(size, "sizes"), _sizes(stride, "strides")
    (start,) = _sizes((offset,), "an offset")
    if len(shape) != len(strides):
        raise expected(f"{len(shape)} strides", strides).named("load")
    memory = storage.untyped().memory
    where = META if memory.data is None else CPU
    spec = TensorSpec(shape, element, strides, start, where)
    if memory.data is not None and spec.extent() * element.itemsize > memory.nbytes and spec.numel:
        raise expected(
            f"a storage of {spec.extent() * element.itemsize} bytes", memory.nbytes,
            "the file is damaged",
        ).named("load")  # fmt: skip
    made = new_tensor(memory, spec)
    if asks_grad:
        api.set_requires_grad(made, True)
    return made


@builder("torch._utils._rebuild_tensor")
def rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any) -> Any:
    """A tensor of PyTorch 0.1 to 0.3."""
    return _window(storage, storage.dtype, storage_offset, size, stride, False)


@builder("torch._utils._rebuild_tensor_v2")
def rebuild_tensor_v2(
    storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any,
    backward_hooks: Any, metadata: Any = None,
) -> Any:  # fmt: skip
    """A tensor whose storage knows its dtype. Hooks are never stored: the field is empty."""
    made = _window(storage, storage.dtype, storage_offset, size, stride, requires_grad)
    return _with_metadata(made, metadata)


@builder("torch._utils._rebuild_tensor_v3")
def rebuild_tensor_v3(
    storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any,
    backward_hooks: Any, dtype: Any, metadata: Any = None,
) -> Any:  # fmt: skip
    """A tensor whose storage is bytes."""
    made = _window(storage, dtype, storage_offset, size, stride, requires_grad)
    return _with_metadata(made, metadata)


def _with_metadata(made: Any, metadata: Any) -> Any:
    """PyTorch marks conjugated and negated views instead of computing them; here they are."""
    flags = metadata or {}
    if flags.get("conj"):
        made = made.conj().resolve_conj()
    return -made if flags.get("neg") else made


@builder("torch._utils._rebuild_meta_tensor_no_storage")
def rebuild_meta_tensor(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    """A tensor without values."""
    spec = TensorSpec(_sizes(size, "sizes"), dtype, _sizes(stride, "strides"), 0, META)
    made = new_tensor(Storage(None), spec)
    if requires_grad:
        api.set_requires_grad(made, True)
    return made


_parameter_class: list[Any] = []


def announce_parameter_class(cls: type) -> None:
    """Called once by whoever knows `nn.Parameter`; this layer stands beside `nn`."""
    _parameter_class[:] = [cls]


def parameter_class() -> Any:
    """The announced `nn.Parameter`."""
    return _parameter_class[0] if _parameter_class else None


@builder("torch._utils._rebuild_parameter")
def rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Any:
    """A parameter."""
    return parameter_class()(data, bool(requires_grad))


@builder("torch._utils._rebuild_parameter_with_state")
def rebuild_parameter_with_state(
    data: Any, requires_grad: Any, backward_hooks: Any, state: Any
) -> Any:
    """A parameter with attributes of its own."""
    return _with_state(rebuild_parameter(data, requires_grad, backward_hooks), state)


@builder("torch._tensor._rebuild_from_type_v2")
def rebuild_from_type(function: Any, cls: Any, args: Any, state: Any) -> Any:
    """A tensor with attributes, or of a class of the user's own."""
    if function not in builders().values() or not issubclass(cls, TensorBase):
        raise expected("a tensor's builder and class", (function, cls)).named("load")
    made = function(*args)
    if type(made) is not cls:
        made = Copies.as_subclass(made, cls)
    setter = getattr(cls, "__setstate__", None)
    if setter is not None:
        setter(made, state)
        return made
    return _with_state(made, state)


def _with_state(made: TensorBase, state: Any) -> TensorBase:
    fields, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(fields or {}), **(slots or {})}.items():
        setattr(made, name, value)
    return made
