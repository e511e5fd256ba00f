"""Enters: tensors by name, or a safetensors file. Leaves: the other.

Invariant: a file holds each tensor's own values, row-major; shared memory is refused, not doubled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import safetensors
from safetensors import numpy as arrays

from thunk.ops.registry import t
from thunk.runtime.tensors import array_from, tensor_from_array
from thunk.serialization.archive import replacing
from thunk.types import dtype as dtypes
from thunk.types.tensor_base import TensorBase

_DTYPES = {
    "BOOL": dtypes.bool_, "U8": dtypes.uint8, "I8": dtypes.int8, "I16": dtypes.int16,
    "U16": dtypes.uint16, "I32": dtypes.int32, "U32": dtypes.uint32, "I64": dtypes.int64,
    "U64": dtypes.uint64, "F16": dtypes.float16, "BF16": dtypes.bfloat16, "F32": dtypes.float32,
    "F64": dtypes.float64, "C64": dtypes.complex64,
}  # fmt: skip

_deserialize: Any = safetensors.deserialize  # the package is typed in part


def save(tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file."""
    _check(tensors)
    values = {
        name: numpy.ascontiguousarray(array_from(tensor.detach()))
        for name, tensor in tensors.items()
    }
    return arrays.save(values, None if metadata is None else dict(metadata))


def save_file(
    tensors: Mapping[str, Any],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write a safetensors file, whole or not at all."""
    content = save(tensors, metadata)
    with replacing(filename) as file:
        file.write(content)


def load(data: bytes) -> dict[str, Any]:
    """The tensors in the bytes of a safetensors file, by name."""
    return {name: _tensor(name, entry) for name, entry in _deserialize(data)}


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Any]:
    """The tensors of a safetensors file, by name."""
    found = load(Path(filename).read_bytes())
    return {name: tensor.to(device) for name, tensor in found.items()}


def save_model(model: Any, filename: str | os.PathLike[str], metadata: Any = None) -> None:
    """Write a module's state; of tied weights the first name is kept, the others noted."""
    kept: dict[str, Any] = {}
    noted = dict(metadata or {})
    first: dict[tuple[int, Any], str] = {}
    for name, tensor in model.state_dict().items():
        key = (id(tensor._storage), tensor._spec)
        if key in first:
            noted[name] = first[key]
        else:
            first[key] = name
            kept[name] = tensor.contiguous()
    save_file(kept, filename, noted or None)


def load_model(model: Any, filename: str | os.PathLike[str], strict: bool = True) -> Any:
    """Load what `save_model` wrote; names that stand for tied weights are not missing."""
    found = load_file(filename)
    state = model.state_dict()
    places = {name: (id(tensor._storage), tensor._spec) for name, tensor in state.items()}
    by_place = {places[name]: tensor for name, tensor in found.items() if name in places}
    for name, place in places.items():
        if name not in found and place in by_place:
            found[name] = by_place[place]
    outcome = model.load_state_dict(found, strict=strict)
    return outcome.missing_keys, outcome.unexpected_keys


def _check(tensors: Mapping[str, Any]) -> None:
    seen: dict[int, str] = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, TensorBase):
            raise ValueError(
                f"save_file: expected tensors, got {type(tensor).__name__} under {name!r}; "
                "take a state_dict apart first"
            )
        if tensor._spec.dtype not in _DTYPES.values():
            raise ValueError(
                f"save_file: expected a dtype of the format, got {tensor._spec.dtype!r} under "
                f"{name!r}; convert it with .to"
            )
        other = seen.setdefault(id(tensor._storage), name)
        if other != name and tensor._spec.numel:
            raise RuntimeError(
                f"save_file: expected tensors that share no memory, got {other!r} and {name!r}; "
                "use save_model, or clone() one of them"
            )


def _tensor(name: str, entry: Mapping[str, Any]) -> Any:
    element = _DTYPES.get(entry["dtype"])
    if element is None:
        raise ValueError(
            f"load_file: expected one of {', '.join(_DTYPES)}, got {entry['dtype']} under {name!r}"
        )
    flat = numpy.frombuffer(entry["data"], dtype=element.numpy)
    return t.reshape(tensor_from_array(flat), tuple(entry["shape"]))
