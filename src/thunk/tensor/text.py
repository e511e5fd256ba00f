"""Enters: a tensor. Leaves: its text, with what autograd knows of it."""

from __future__ import annotations

from typing import Any

from thunk.autograd.meta import requires_grad
from thunk.runtime.storage import array_of
from thunk.tensor.printing import PLAIN_PREFIX, tensor_text
from thunk.types.promotion import get_default_dtype


def text_of(tensor: Any, contents: str | None = None) -> str:
    """What `repr(tensor)` says."""
    spec = tensor._spec
    values = None if spec.device.type == "meta" else array_of(tensor._storage, spec)
    node = tensor.grad_fn
    kind = type(tensor)
    is_parameter = getattr(tensor, "_is_param", False)
    plain = kind.__name__ == "Tensor" or (is_parameter and kind.__name__ == "Parameter")
    return tensor_text(
        values,
        dtype_name=spec.dtype.name,
        shape=spec.shape,
        default_dtype=get_default_dtype().name,
        device=str(spec.device),
        requires_grad=requires_grad(tensor),
        grad_fn_name=None if node is None else _short_name(node),
        prefix=PLAIN_PREFIX if plain else f"{kind.__name__}(",
        is_parameter=is_parameter,
        contents=contents,
    )


def _short_name(node: Any) -> str:
    """The last part of a node's name, as printed."""
    name: str = node.name()
    return name.rpartition("::")[2]
