"""Enters: a Python value and the type a schema wants. Leaves: the bound value, or `REJECTED`.

Invariant: what comes out is plain: Python numbers, tuples, and this package's own dtype, device,
layout and tensor objects; what PyTorch's parser rejects is rejected, never converted by force.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy

from thunk.ir.schema import MISSING, Argument, Default, SchemaType
from thunk.types import layout as layouts
from thunk.types.device import device
from thunk.types.dtype import ALIASES, bool_, complex128, dtype, dtype_named, float64, int64
from thunk.types.tensor_base import TensorBase


class Rejected(enum.Enum):
    """The type of `REJECTED`, which a converter returns for a value of a wrong type."""

    REJECTED = "REJECTED"


REJECTED = Rejected.REJECTED

Converter = Callable[[Any], Any]

WHOLE = frozenset({"int", "SymInt", "DeviceIndex"})
_SMALLEST, _LARGEST, _LARGEST_UNSIGNED = -(2**63), 2**63 - 1, 2**64 - 1
_DTYPE_OF_TYPE = {float: float64, int: int64, bool: bool_, complex: complex128}
_LAYOUTS = (layouts.strided, layouts.sparse_coo, layouts.sparse_csr)
_FORMATS = (
    layouts.contiguous_format,
    layouts.channels_last,
    layouts.channels_last_3d,
    layouts.preserve_format,
)
_NAMED = {each.name: each for each in (*_LAYOUTS, *_FORMATS)}

_TYPE_NAMES = {
    "Scalar": "Number", "number": "Number", "SymInt": "int", "DeviceIndex": "int",
    "ScalarType": "torch.dtype", "Layout": "torch.layout", "Device": "torch.device",
    "MemoryFormat": "torch.memory_format", "Generator": "torch.Generator", "Any": "object",
    "Storage": "torch.Storage", "Stream": "torch.Stream",
}  # fmt: skip
_PLURALS = {"Tensor": "Tensors", "Scalar": "Scalars", "str": "strings"}


def type_name(kind: SchemaType) -> str:
    """What PyTorch's messages call a type: `Tensor`, `Number`, `tuple of ints`."""
    name = _TYPE_NAMES.get(kind.base, kind.base)
    if not kind.is_list:
        return name
    return f"tuple of {_PLURALS.get(kind.base, f'{name}s')}"


def kind_of(value: object) -> str:
    """What PyTorch's messages call the type of a value."""
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


# Classes of layers above this one, by the name that schemas give them.
_classes: dict[str, type] = {}


def announce_class(base: str, cls: type) -> None:
    """Tell which class stands for a schema type defined in a higher layer, such as Generator."""
    _classes[base] = cls


def _is_dimensionless(value: TensorBase) -> bool:
    return value._spec.shape == () and not getattr(value, "requires_grad", False)


def _item(value: Any) -> Any:
    return value.item()


def _checked_int(value: int) -> int:
    if _SMALLEST <= value <= _LARGEST:
        return value
    raise ValueError(
        f"expected an int of 64 bits, got {value}: Overflow when unpacking long long; "
        "use a smaller number"
    )


def _checked_scalar(value: int) -> int:
    if _SMALLEST <= value <= _LARGEST_UNSIGNED:
        return value
    reason = "int too big to convert" if value > 0 else "can't convert negative int to unsigned"
    raise OverflowError(f"expected an int of 64 bits, got {value}: {reason}; use a float")


def to_tensor(value: Any) -> Any:
    return value if isinstance(value, TensorBase) else REJECTED


def to_tensor_or_number(value: Any) -> Any:
    return value if isinstance(value, TensorBase) else to_number(value)


def to_number(value: Any) -> Any:
    """A Python number from a Python or NumPy scalar; arrays and tensors are none."""
    kind = type(value)
    if kind is float or kind is bool or kind is complex:
        return value
    if isinstance(value, int):
        return _checked_scalar(int(value))
    if isinstance(value, (float, numpy.floating)):
        return float(value)
    if isinstance(value, numpy.integer):
        return _checked_scalar(int(value))
    if isinstance(value, numpy.bool_):
        return bool(value)
    if isinstance(value, (complex, numpy.complexfloating)):
        return complex(value)
    return REJECTED


def to_scalar(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return _item(value) if _is_dimensionless(value) else REJECTED
    return to_number(value)


def to_float(value: Any) -> Any:
    if type(value) is float:
        return value
    found = to_scalar(value) if type(value) is not int else value
    if found is REJECTED or isinstance(found, complex):
        return REJECTED
    return float(found)


def to_complex(value: Any) -> Any:
    found = to_scalar(value)
    return REJECTED if found is REJECTED else complex(found)


def to_int(value: Any) -> Any:
    """An int from a Python or NumPy integer or a dimensionless integer tensor; never from bool."""
    if type(value) is int:
        return _checked_int(value)
    if isinstance(value, bool):
        return REJECTED
    if isinstance(value, (int, numpy.integer)):
        return _checked_int(int(value))
    if isinstance(value, TensorBase) and _is_dimensionless(value):
        element = value._spec.dtype
        if not element.is_inexact and element is not bool_:
            return int(_item(value))
    return REJECTED


def to_index(value: Any) -> Any:
    """As `to_int`, and from whatever has `__index__`; sizes are this generous in PyTorch."""
    if type(value) is int:
        return _checked_int(value)
    if isinstance(value, (bool, numpy.bool_)):
        return REJECTED
    if isinstance(value, TensorBase):
        element = value._spec.dtype
        if value._spec.numel != 1 or element.is_inexact or element is bool_:
            return REJECTED
        return int(_item(value))
    try:
        return _checked_int(value.__index__())
    except (AttributeError, TypeError):
        return REJECTED


def to_bool(value: Any) -> Any:
    return value if type(value) is bool else REJECTED


def to_string(value: Any) -> Any:
    return value if isinstance(value, str) else REJECTED


def to_dtype(value: Any) -> Any:
    if isinstance(value, dtype):
        return value
    return _DTYPE_OF_TYPE.get(value, REJECTED) if isinstance(value, type) else REJECTED


def to_device(value: Any) -> Any:
    if type(value) is device:
        return value.of_tensors()
    if isinstance(value, (str, device, int)) and not isinstance(value, bool):
        return device(value).of_tensors()
    return REJECTED


def to_layout(value: Any) -> Any:
    return value if isinstance(value, layouts.layout) else REJECTED


def to_memory_format(value: Any) -> Any:
    return value if isinstance(value, layouts.memory_format) else REJECTED


def to_tensors(value: Any) -> Any:
    if not isinstance(value, (tuple, list)):
        return REJECTED
    for each in value:
        if not isinstance(each, TensorBase):
            return REJECTED
    return tuple(value)


def to_ints(value: Any) -> Any:
    """A tuple of ints from a tuple or list; PyTorch refuses a bool only in front."""
    if not isinstance(value, (tuple, list)):
        return REJECTED
    for each in value:
        if type(each) is not int or not _SMALLEST <= each <= _LARGEST:
            return _mixed_ints(value)
    return tuple(value)


def _mixed_ints(values: tuple[Any, ...] | list[Any]) -> Any:
    found = []
    for position, value in enumerate(values):
        if position and isinstance(value, bool):
            value = int(value)
        if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
            return REJECTED
        number = to_index(value)
        if number is REJECTED:
            return REJECTED
        found.append(number)
    return tuple(found)


def _repeated(size: int, single: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return to_ints(value)
        number = single(value)
        return REJECTED if number is REJECTED else (number,) * size

    return convert


def _each(element: Converter, accepts_none: bool) -> Converter:
    def convert(values: Any) -> Any:
        if not isinstance(values, (tuple, list)):
            return REJECTED
        found = []
        for value in values:
            bound = None if value is None and accepts_none else element(value)
            if bound is REJECTED:
                return REJECTED
            found.append(bound)
        return tuple(found)

    return convert


def _instance(base: str) -> Converter:
    def convert(value: Any) -> Any:
        cls = _classes.get(base)
        return value if cls is not None and isinstance(value, cls) else REJECTED

    return convert


def to_anything(value: Any) -> Any:
    return value


_SINGLE: dict[str, Converter] = {
    "Tensor": to_tensor, "Scalar": to_scalar, "number": to_scalar, "int": to_int,
    "DeviceIndex": to_int, "SymInt": to_index, "float": to_float, "complex": to_complex,
    "bool": to_bool, "str": to_string, "ScalarType": to_dtype, "Layout": to_layout,
    "MemoryFormat": to_memory_format, "Device": to_device, "Any": to_anything,
}  # fmt: skip


def converter(kind: SchemaType, accepts_numbers: bool = False) -> Converter:
    """The converter for one type; `None` for an optional is the caller's business."""
    single = _SINGLE.get(kind.base) or _instance(kind.base)
    if kind.base == "Tensor" and accepts_numbers:
        single = to_tensor_or_number
    if not kind.is_list:
        return single
    if kind.base in WHOLE:
        return to_ints if kind.size is None else _repeated(kind.size, single)
    if single is to_tensor and not kind.optional_element:
        return to_tensors
    return _each(single, kind.optional_element)


def first_rejected(kind: SchemaType, value: Any) -> int | None:
    """Which element of a list is of a wrong type, if `value` is a list at all."""
    if not kind.is_list or not isinstance(value, (tuple, list)):
        return None
    whole = converter(kind)
    for position in range(len(value)):
        if whole(value[: position + 1]) is REJECTED:
            return position
    return None


def bound_default(argument: Argument) -> Any:
    """An argument's default as a bound value: names become the objects they stand for."""
    value: Default | Any = argument.default
    if value is MISSING or not isinstance(value, str):
        return value
    base = argument.type.base
    if base == "ScalarType":
        return ALIASES.get(value) or dtype_named(value)
    if base in ("Layout", "MemoryFormat"):
        return _NAMED[value]
    return device(value) if base == "Device" else value
