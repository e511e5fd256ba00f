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
        grad_fn_name=_name_of_history(tensor),
        prefix=PLAIN_PREFIX if plain else f"{kind.__name__}(",
        is_parameter=is_parameter,
        contents=contents,
    )


def _name_of_history(tensor: Any) -> str | None:
    """The last part of the name of what made a tensor, as printed."""
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view whose history was written over shows its values all the same
        return "Invalid"
    if node is None:
        return None
    name: str = node.name()
    return name.rpartition("::")[2]
