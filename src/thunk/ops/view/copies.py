"""The `*_copy` forms of view operators: the same window, as a tensor of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from thunk.ir.opdef import OpDef
from thunk.ops.declare import declare
from thunk.ops.registry import find_op, t
from thunk.types.layout import contiguous_format

_COPIED = (
    "as_strided", "view", "view.dtype", "permute", "transpose.int", "t", "expand", "unsqueeze",
    "squeeze", "squeeze.dim", "squeeze.dims", "select.int", "slice.Tensor", "diagonal", "unfold",
    "alias", "detach", "split_with_sizes", "split.Tensor", "unbind.int", "view_as_real",
    "view_as_complex",
)  # fmt: skip


def _of_its_own(op: OpDef) -> Callable[..., Any]:
    packet = getattr(t, op.name)

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        shown = packet(*args, **kwargs)
        if isinstance(shown, tuple):
            return tuple([t.clone(each, memory_format=contiguous_format) for each in shown])
        return t.clone(shown, memory_format=contiguous_format)

    return decomposed


def _declare_copy(op: OpDef) -> None:
    plain = replace(
        op.schema,
        name=f"{op.name}_copy",
        arguments=tuple(replace(each, alias=None) for each in op.schema.arguments),
        returns=tuple(replace(each, alias=None) for each in op.schema.returns),
    )
    declare(
        str(plain),
        doc=f"A copy of what `{op.name}` shows.",
        decompose=_of_its_own(op),
        variants="function out",
    )


for _name in _COPIED:
    _op = find_op(f"aten::{_name}")
    assert _op is not None
    _declare_copy(_op)
