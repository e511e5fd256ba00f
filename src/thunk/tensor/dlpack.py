"""Enters: a NumPy array, or any object of the DLPack protocol. Leaves: the other, zero-copy.

Invariant: NumPy owns every exported or imported description, so its C deleters govern lifetimes;
element types unknown to NumPy travel as unsigned integers whose type code alone is rewritten.
"""

from __future__ import annotations

import ctypes
import datetime
from typing import Any

import ml_dtypes
import numpy
from numpy.typing import NDArray

CPU_DEVICE = (1, 0)
_HOST_DEVICES = frozenset({1, 3, 11, 13})  # plain, CUDA-pinned, ROCm-pinned and managed memory
_MAJOR_VERSION = 1
_LEGACY = b"dltensor"
_VERSIONED = b"dltensor_versioned"
_CapsuleType = type(datetime.datetime_CAPI)


class _DataType(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _VersionedTensor(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


# Own prototypes: the attributes of ctypes.pythonapi are shared by everything in the process.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

_BFLOAT16 = numpy.dtype(ml_dtypes.bfloat16)
_UNSIGNED = 1
_CODE_OF = {_BFLOAT16: 4}
_ELEMENT_OF = {(code, 8 * element.itemsize): element for element, code in _CODE_OF.items()}


def _carrier(element: numpy.dtype[Any]) -> numpy.dtype[Any]:
    return numpy.dtype(f"uint{8 * element.itemsize}")


def to_capsule(
    array: NDArray[Any],
    *,
    stream: int | None = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> object:
    """A capsule over the memory of `array`, under the arguments of `__dlpack__`.

    The array stays alive until the consumer lets go of it. Without `max_version` the capsule is of
    the kind that cannot say "read-only", so a read-only array raises `BufferError`.
    """
    _check_stream(stream)
    if dl_device is not None and int(dl_device[0]) != CPU_DEVICE[0]:
        raise BufferError(
            f"__dlpack__: expected a CPU device {CPU_DEVICE}, got {tuple(dl_device)}; "
            "move the tensor there after importing it"
        )
    if any(stride < 0 for stride in array.strides):
        raise BufferError(
            f"__dlpack__: expected strides that are not negative, got {array.strides}; "
            "export a copy"
        )
    array = numpy.asarray(array)
    code = _CODE_OF.get(array.dtype)
    carried = array if code is None else array.view(_carrier(array.dtype))
    capsule: object = carried.__dlpack__(max_version=max_version, copy=copy)
    if code is not None:
        _described(capsule).dtype.code = code
    return capsule


def _check_stream(stream: object) -> None:
    if stream is None or stream == -1:
        return
    if type(stream) is not int:
        raise TypeError(f"__dlpack__: expected stream to be an int or None, got {stream!r}")
    # PyTorch asserts this, and consumers that probe for streams catch that.
    raise AssertionError(f"__dlpack__: expected stream None or -1 on the CPU, got {stream}")


def from_dlpack_object(source: object, *, copy: bool | None = None) -> NDArray[Any]:
    """An array over the memory of `source`: an object with `__dlpack__`, or a capsule.

    The result is read-only only if the producer says so, and keeps the memory alive.
    """
    capsule = source if isinstance(source, _CapsuleType) else _requested(source)
    versioned = bool(_is_valid(capsule, _VERSIONED))
    description = _described(capsule)
    if description.device_type not in _HOST_DEVICES:
        raise BufferError(
            "from_dlpack: expected memory that the CPU can read, got DLPack device "
            f"({description.device_type}, {description.device_id}); move it to the CPU first"
        )
    element = _ELEMENT_OF.get((description.dtype.code, description.dtype.bits))
    if element is not None:
        description.dtype.code = _UNSIGNED
    array = numpy.from_dlpack(_Handover(capsule))
    if not versioned:
        array = numpy.asarray(_Writable(array))
    if element is not None:
        array = array.view(element)
    return array.copy() if copy else array


def _requested(source: object) -> object:
    """The newest kind of capsule that `source` can make."""
    export = getattr(source, "__dlpack__", None)
    if export is None:
        raise RuntimeError(
            "from_dlpack: expected an object with __dlpack__ or a DLPack capsule, "
            f"got {type(source).__name__}"
        )
    device = getattr(source, "__dlpack_device__", None)
    if device is not None and int(device()[0]) not in _HOST_DEVICES:
        raise BufferError(
            f"from_dlpack: expected memory that the CPU can read, got DLPack device {device()}; "
            "move it to the CPU first"
        )
    try:
        capsule: object = export(max_version=(_MAJOR_VERSION, 0))
    except TypeError:
        # The protocol's way to learn that a producer is older than versions.
        capsule = export()
    return capsule


def _described(capsule: object) -> _Tensor:
    """The description inside a capsule that nobody has consumed yet."""
    if isinstance(capsule, _CapsuleType):
        if _is_valid(capsule, _LEGACY):
            return _Tensor.from_address(_pointer(capsule, _LEGACY))
        if _is_valid(capsule, _VERSIONED):
            whole = _VersionedTensor.from_address(_pointer(capsule, _VERSIONED))
            if whole.major == _MAJOR_VERSION:
                return whole.tensor  # type: ignore[no-any-return]  # fields of Structure are Any
            raise BufferError(
                f"from_dlpack: expected DLPack version {_MAJOR_VERSION}, got {whole.major}; "
                "ask the producer for an older max_version"
            )
    raise RuntimeError(
        f"from_dlpack: expected a DLPack capsule that is not consumed yet, got {capsule!r}; "
        "a capsule serves one import only"
    )


class _Handover:
    """A capsule under the protocol, for NumPy to consume."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, *, stream: None = None, **_: object) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU_DEVICE


class _Writable:
    """The memory of an array that NumPy protects only because its capsule is of the old kind."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self.__array_interface__ = {
            "data": (array.ctypes.data, False),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "version": 3,
        }
