"""Enters: nested containers of tensors. Leaves: the same, computed; or a file of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from thunk.base.pytree import tree_flatten, tree_unflatten
from thunk.lazy.step import sync_multi
from thunk.ops.registry import t
from thunk.types.device import CPU
from thunk.types.tensor_base import TensorBase

# How objects are written to files; the layer that does it puts itself here.
saver: Final[list[Callable[..., None]]] = []


def to_cpu(tensors: Any, devices: Sequence[str] | None = None) -> Any:
    """The same containers with tensors of the CPU, which have their values."""
    flat, spec = tree_flatten(tensors)
    sync_multi(flat, devices or ["lazy"])
    return tree_unflatten([_on_cpu(each) for each in flat], spec)


def _on_cpu(value: Any) -> Any:
    if not isinstance(value, TensorBase) or value._spec.device.type != "lazy":
        return value
    return t.to(value, CPU)


def save(tensors: Any, *args: Any, **kwargs: Any) -> None:
    """Write the values of tensors of any device to a file, as tensors of the CPU."""
    saver[0](to_cpu(tensors), *args, **kwargs)
