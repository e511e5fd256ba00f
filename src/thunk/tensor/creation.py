"""Enters: Python data, arrays and foreign tensors. Leaves: tensors.

Invariant: `tensor` always copies; `from_numpy`, `frombuffer` and `from_dlpack` share memory;
`as_tensor` and `asarray` share where they can.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from thunk.autograd.api import set_requires_grad
from thunk.base.errors import expected
from thunk.dispatch.call import keys_of_device
from thunk.ir.coerce import REJECTED, to_device, to_dtype
from thunk.ops.registry import t
from thunk.runtime.storage import adopt, array_of
from thunk.runtime.tensors import new_tensor, tensor_like
from thunk.tensor.dlpack import from_dlpack_object
from thunk.tensor.numpy_interop import array_from_object, array_to_share
from thunk.types.device import CPU, device, get_default_device
from thunk.types.dtype import dtype
from thunk.types.promotion import get_default_dtype
from thunk.types.spec import make_spec
from thunk.types.tensor_base import TensorBase

_THIS_CPU = device("cpu", 0)


def read_tensor(value: Any) -> numpy.ndarray:
    """The array of a tensor."""
    return array_of(value._storage, value._spec)


def checked_dtype(op: str, element: Any) -> dtype | None:
    """The dtype that `element` names, None if nothing does."""
    found: Any = None if element is None else to_dtype(element)
    if found is REJECTED:
        raise TypeError(
            f"{op}(): argument 'dtype' must be torch.dtype, not {type(element).__name__}"
        )
    return found  # type: ignore[no-any-return]  # converters return Any


def checked_device(op: str, where: Any) -> device | None:
    """The device that `where` names, None if nothing does."""
    found: Any = None if where is None else to_device(where)
    if found is REJECTED:
        raise TypeError(
            f"{op}(): argument 'device' must be torch.device, not {type(where).__name__}"
        )
    if found is not None:
        keys_of_device(found)
    return found  # type: ignore[no-any-return]  # converters return Any


def place_array(array: numpy.ndarray, element: dtype, where: device) -> Any:
    """A tensor that takes over a fresh array, on `where`."""
    tensor = tensor_like(array, make_spec(tuple(array.shape), element, CPU))
    return tensor if where in (CPU, _THIS_CPU) else t._to_copy(tensor, device=where)


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor with a copy of `data`: a number, nested sequences, an array or a tensor."""
    element = checked_dtype("tensor", dtype)
    where = checked_device("tensor", device)
    if pin_memory:
        raise expected(
            "pin_memory=False", "True: cannot access accelerator device when none is available"
        ).named("tensor")
    if isinstance(data, TensorBase):
        warnings.warn(
            "tensor: expected data, got a tensor; to copy construct from a tensor, it is "
            "recommended to use sourceTensor.detach().clone()",
            UserWarning,
            stacklevel=2,
        )
        result = t.clone(t.detach(data))
        result = result.to(device=where or result.device, dtype=element or result.dtype)
    else:
        array, inferred = array_from_object(data, read_tensor=read_tensor, dtype=element)
        result = place_array(array, element or inferred, where or get_default_device())
    if requires_grad:
        set_requires_grad(result, True)
    return result


def from_numpy(ndarray: Any) -> Any:
    """A tensor that shares the memory of an array."""
    return looking_at(array_to_share(ndarray))


def looking_at(array: Any) -> Any:
    """A tensor over memory that others may read and write at any time."""
    storage, spec = adopt(array)
    storage.foreign = True
    return new_tensor(storage, spec)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """`data` as a tensor, without a copy where none is needed."""
    element = checked_dtype("as_tensor", dtype)
    where = checked_device("as_tensor", device)
    if isinstance(data, TensorBase):
        return _converted(data, element, where)
    if isinstance(data, numpy.ndarray) and _can_share(data):
        shared = looking_at(data)
        return _converted(shared, element, where or get_default_device())
    return tensor(data, dtype=element, device=where)


def _converted(source: Any, element: dtype | None, where: device | None) -> Any:
    options: dict[str, Any] = {}
    if element is not None:
        options["dtype"] = element
    if where is not None and where != source._spec.device:
        options["device"] = where
    return source.to(**options) if options else source


def _can_share(array: numpy.ndarray) -> bool:
    whole = all(step >= 0 and step % array.itemsize == 0 for step in array.strides)
    return whole and array.dtype.isnative and array.flags.writeable


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """`obj` as a tensor; `copy` says whether it must share memory, must not, or may."""
    element = checked_dtype("asarray", dtype)
    where = checked_device("asarray", device)
    source = _shared(obj)
    if source is None:
        if copy is False:
            raise ValueError(
                f"asarray: expected an object whose memory can be shared, got "
                f"{type(obj).__name__}: can't alias arbitrary sequence into a tensor; drop copy="
            )
        result = tensor(obj, dtype=element, device=where)
    else:
        result = _converted(source, element, where)
        if copy is False and result._storage is not source._storage:
            raise ValueError(
                f"asarray: expected to share memory, got another dtype or device than "
                f"{source.dtype}: can't alias; drop copy="
            )
        if copy and result._storage is source._storage:
            result = t.clone(result)
    return _asked(result, requires_grad)


def _asked(result: Any, requires_grad: bool) -> Any:
    if requires_grad:
        if result.grad_fn is not None:
            result = t.detach(result)
        set_requires_grad(result, True)
    elif result.requires_grad:
        result = t.detach(result)
    return result


def _shared(value: Any) -> Any:
    """A tensor over the memory of `value`, None if it has none."""
    if isinstance(value, TensorBase):
        return value
    if isinstance(value, numpy.ndarray):
        return looking_at(value) if _can_share(value) else new_tensor(*adopt(value.copy()))
    if isinstance(value, numpy.generic):
        return new_tensor(*adopt(numpy.array(value)))
    if hasattr(type(value), "__dlpack__"):
        return from_dlpack(value)
    try:
        memoryview(value)
    except TypeError:
        return None
    return frombuffer(value, dtype=get_default_dtype())


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A one-dimensional tensor over the memory of any object with a buffer."""
    element = checked_dtype("frombuffer", dtype)
    if element is None:
        raise TypeError("frombuffer(): argument 'dtype' must be torch.dtype, not NoneType")
    try:
        view = memoryview(buffer).cast("B")
    except TypeError:
        raise ValueError(
            f"frombuffer: expected an object that implements Python buffer protocol, got "
            f"{type(buffer).__name__}"
        ) from None
    length = _checked_window(len(view), element, count, offset)
    if view.readonly:
        warnings.warn(
            "frombuffer: expected a writable buffer, got a read-only one; writing to the tensor "
            "is undefined: copy the buffer first",
            UserWarning,
            stacklevel=2,
        )
    array = numpy.frombuffer(view, element.numpy, length, offset)
    result = looking_at(array)
    if requires_grad:
        set_requires_grad(result, True)
    return result


def _checked_window(size: int, element: dtype, count: int, offset: int) -> int:
    """How many elements to read; raises ValueError where the window leaves the buffer."""
    if size == 0 or count == 0:
        raise ValueError(
            f"frombuffer: expected both buffer length and count to be nonzero, got {size}, {count}"
        )
    if not 0 <= offset < size:
        raise ValueError(
            f"frombuffer: expected an offset no greater than buffer length {size} minus 1, "
            f"got {offset}"
        )
    if count > 0:
        if offset + count * element.itemsize > size:
            raise ValueError(
                f"frombuffer: expected {count} elements of {element.itemsize} bytes after offset "
                f"{offset}, got a buffer of {size} bytes"
            )
        return count
    if (size - offset) % element.itemsize:
        raise ValueError(
            f"frombuffer: expected buffer length after offset ({size - offset} bytes) to be a "
            f"multiple of element size ({element.itemsize})"
        )
    return (size - offset) // element.itemsize


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of any object of the DLPack protocol."""
    where = checked_device("from_dlpack", device)
    array = from_dlpack_object(ext_tensor, copy=copy)
    result = new_tensor(*adopt(array)) if copy else looking_at(array)
    if where is None or where == result.device:
        return result
    if copy is False:
        raise ValueError(f"from_dlpack: expected no copy, got device {where}; drop copy=False")
    return result.to(where)


def new_from_data(like: TensorBase, data: Any, element: dtype | None, where: device | None) -> Any:
    """`like.new_tensor(data)`: a copy with the dtype and device of `like` unless given."""
    element = element or like._spec.dtype
    where = where or like._spec.device
    if isinstance(data, TensorBase):
        return t.clone(t.detach(data)).to(device=where, dtype=element)
    array, _ = array_from_object(data, read_tensor=read_tensor, dtype=element, op="new_tensor")
    return place_array(array, element, where)

