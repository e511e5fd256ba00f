"""Enters: an annotated Python function. Leaves: the schema of the operator it implements.

Invariant: every parameter's annotation means exactly one schema type; anything else is refused.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

from thunk.types.device import device
from thunk.types.dtype import dtype
from thunk.types.tensor_base import TensorBase

_SCALARS: dict[Any, str] = {
    int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType", device: "Device",
    complex: "Scalar", int | float | bool: "Scalar", int | float: "Scalar",
}  # fmt: skip


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None
) -> str:
    """The schema of `prototype_function`; `mutates_args` names the parameters it writes to."""
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)
    written = _written(signature, hints, mutates_args)
    parts: list[str] = []
    keyword_seen = False
    for index, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(
                f"infer_schema(func): We do not support positional-only, varargs, or varkwargs "
                f"syntax. Got parameter {name}"
            )
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_seen:
            parts.append("*")
            keyword_seen = True
        if name not in hints:
            raise ValueError(
                f"infer_schema(func): Parameter {name} must have a type annotation."
            )
        text = _type_text(hints[name], name)
        if name in written:
            text = _marked_written(text, index)
        default = "" if parameter.default is parameter.empty else f"={_spelled(parameter.default)}"
        parts.append(f"{text} {name}{default}")
    schema = f"({', '.join(parts)}) -> {_returns(hints.get('return', inspect.Parameter.empty))}"
    return schema if op_name is None else op_name + schema


def _written(
    signature: inspect.Signature, hints: dict[str, Any], mutates_args: Any
) -> frozenset[str]:
    if isinstance(mutates_args, str):
        if mutates_args != "unknown":
            raise ValueError("mutates_args must either be a sequence of names or 'unknown'")
        return frozenset(
            name for name in signature.parameters if "Tensor" in _type_text(hints[name], name)
        )
    unknown = set(mutates_args) - set(signature.parameters)
    if unknown:
        raise ValueError(
            f"infer_schema(func): {sorted(unknown)} in mutates_args were not found in the list of "
            "arguments"
        )
    return frozenset(mutates_args)


def _marked_written(text: str, index: int) -> str:
    if not text.startswith("Tensor"):
        raise ValueError("infer_schema(func): mutates_args may name tensor arguments only")
    return text.replace("Tensor", f"Tensor(a{index}!)", 1)


def _type_text(hint: Any, name: str) -> str:
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type) and issubclass(hint, TensorBase):
        return "Tensor"
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType) and type(None) in inner:
        rest = [each for each in inner if each is not type(None)]
        if len(rest) == 1:
            return _type_text(rest[0], name) + "?"
    if origin in (list, Sequence, typing.Sequence) and len(inner) == 1:
        return _type_text(inner[0], name) + "[]"
    raise ValueError(
        f"infer_schema(func): Parameter {name} has unsupported type {hint}. The valid types are "
        "Tensor, int, float, bool, str, dtype, device, and Optional and Sequence of them."
    )


def _returns(hint: Any) -> str:
    if hint is None or hint is type(None):
        return "()"
    if hint is inspect.Parameter.empty:
        raise ValueError("infer_schema(func): expected a return annotation")
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return f"({', '.join(_type_text(each, 'return') for each in inner)})"
    return _type_text(hint, "return")


def _spelled(default: Any) -> str:
    if isinstance(default, dtype):
        return default.name
    if isinstance(default, str):
        return f'"{default}"'
    return str(default)
