"""`thunk._utils`: helpers of PyTorch's that packages import although they are not public."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from thunk.ops.registry import t
from thunk.serialization.rebuild import (
    rebuild_meta_tensor,
    rebuild_parameter,
    rebuild_parameter_with_state,
    rebuild_tensor,
    rebuild_tensor_v2,
    rebuild_tensor_v3,
)
from thunk.types.device import device

_rebuild_meta_tensor_no_storage = rebuild_meta_tensor
_rebuild_parameter = rebuild_parameter
_rebuild_parameter_with_state = rebuild_parameter_with_state
_rebuild_tensor = rebuild_tensor
_rebuild_tensor_v2 = rebuild_tensor_v2
_rebuild_tensor_v3 = rebuild_tensor_v3


def _flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """Tensors one behind the other, as one vector."""
    return t.cat([t.reshape(each, (-1,)) for each in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """A vector taken apart into the shapes of `tensors`."""
    parts = t.split_with_sizes(flat, [each.numel() for each in tensors])
    return tuple(t.view_as(part, each) for part, each in zip(parts, tensors))


def _take_tensors(tensors: Sequence[Any], size_limit: int) -> list[list[Any]]:
    """Tensors in groups of one type, each of at most so many bytes where that is possible."""
    groups: dict[str, list[list[Any]]] = {}
    sizes: dict[str, int] = {}
    for each in tensors:
        kind, size = each.type(), each.numel() * each.element_size()
        if kind not in groups or sizes[kind] + size > size_limit > 0:
            groups.setdefault(kind, []).append([])
            sizes[kind] = 0
        groups[kind][-1].append(each)
        sizes[kind] += size
    return [group for found in groups.values() for group in found if group]


def _get_device_index(where: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; -1 for the CPU where that is allowed."""
    found = device(where) if not isinstance(where, int) else None
    if found is None:
        return int(where)
    if found.type == "cpu" and allow_cpu:
        return -1
    return found.index or 0


def _import_dotted_name(name: str) -> Any:
    """The object of a dotted name."""
    first, *rest = name.split(".")
    found: Any = importlib.import_module(first)
    for part in rest:
        found = getattr(found, part)
    return found
