"""Enters: packets of operators. Leaves: what users call: functions, methods, properties.

Invariant: every public callable of an operator is made here and nowhere else, so that what happens
on a call can be changed in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from thunk.autograd.api import set_requires_grad
from thunk.ir.opdef import OpDef
from thunk.ir.schema import Argument
from thunk.ops.registry import Packet
from thunk.types.tensor_base import TensorBase

_FACTORY_ARGUMENTS = frozenset({"dtype", "layout", "device", "pin_memory"})


def function_of(packet: Packet, name: str, home: str) -> Callable[..., Any]:
    """The public function of `packet`, called `name` in the module `home`."""
    ops = [op for op in packet.overloads if "function" in op.variants]
    if any(_is_factory(op) for op in ops):
        function = _factory(packet)
    else:
        function = _function(packet)
    _describe(function, name, name, home, ops, ask=function.__name__ == "factory")
    return function


def _function(packet: Packet) -> Callable[..., Any]:
    return copy_of_function(packet.function.call)


def copy_of_function(function: Any) -> Callable[..., Any]:
    """The same code as an object that can have a name of its own."""
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _is_factory(op: OpDef) -> bool:
    names = {each.name for each in op.schema.keyword_only}
    return names >= _FACTORY_ARGUMENTS


def _factory(packet: Packet) -> Callable[..., Any]:
    """A function that makes tensors: it also takes `requires_grad=`, which no schema has."""
    call = packet.function.call

    def factory(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        result = call(*args, **kwargs)
        if requires_grad:
            set_requires_grad(result, True)
        return result

    return factory


def method_of(packet: Packet, name: str) -> Callable[..., Any]:
    """The method of `Tensor` that calls `packet`."""
    ops = [op for op in packet.overloads if "method" in op.variants]
    method = _factory_method(packet) if any(_is_factory(op) for op in ops) else _method(packet)
    _describe(method, name, f"Tensor.{name}", "thunk", ops, ask=False)
    return method


def _method(packet: Packet) -> Callable[..., Any]:
    return copy_of_function(packet.method.call)


def _factory_method(packet: Packet) -> Callable[..., Any]:
    call = packet.method.call

    def method(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        result = call(*args, **kwargs)
        if requires_grad:
            set_requires_grad(result, True)
        return result

    return method


_WRITABLE = frozenset({"real", "imag"})


def property_of(packet: Packet) -> property:
    """The attribute of `Tensor` that calls `packet`."""

    def read(self: Any) -> Any:
        return packet.method.call(self)

    def write(self: Any, value: Any) -> None:
        part = packet.method.call(self)
        part.copy_(value) if isinstance(value, TensorBase) else part.fill_(value)

    writable = packet.name in _WRITABLE
    return property(read, write if writable else None, doc=packet.overloads[0].doc)


def _describe(
    function: Callable[..., Any], name: str, qualified: str, home: str, ops: list[OpDef], ask: bool
) -> None:
    first = ops[0]
    has_out = any(op.schema.outs for op in ops)
    signature = _signature(first, has_out, ask)
    results = ", ".join(str(each.type.base) for each in first.schema.returns)
    function.__name__ = name
    function.__qualname__ = qualified
    function.__module__ = home
    function.__doc__ = f"{name}{signature} -> {results}\n\n{first.doc}"
    function.__text_signature__ = signature  # type: ignore[attr-defined]  # read by tools


def _signature(op: OpDef, has_out: bool, ask: bool) -> str:
    """The parameters as a user writes them."""
    parts: list[str] = []
    for argument in op.schema.arguments:
        if argument.keyword_only and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(argument))
    if (has_out or ask) and "*" not in parts:
        parts.append("*")
    parts += ["out=None"] if has_out else []
    parts += ["requires_grad=False"] if ask else []
    return f"({', '.join(parts)})"


def _parameter(argument: Argument) -> str:
    name = "input" if argument.name == "self" else argument.name
    if argument.is_required:
        return name
    default = argument.default
    spelled = default if argument.type.base in ("MemoryFormat", "ScalarType") else repr(default)
    return f"{name}={spelled}"
