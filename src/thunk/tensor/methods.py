"""Enters: operator declarations. Leaves: the methods and operators of `Tensor`.

Invariant: a method exists exactly when a declaration lists it; Python's operators map to names here
and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.ir.opdef import OpDef
from thunk.ops.declare import subscribe
from thunk.ops.registry import Packet, find_packet
from thunk.tensor.tensor import Tensor
from thunk.types.tensor_base import TensorBase

_NUMBERS = (bool, int, float, complex)


def _make_method(packet: Packet) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        return packet.method(args, kwargs)

    method.__name__ = packet.name
    method.__qualname__ = f"Tensor.{packet.name}"
    method.__doc__ = packet.overloads[0].doc
    return method


# What Python calls the attributes whose operators have longer names.
_ATTRIBUTES = {"numpy_T": "T", "matrix_H": "H"}
_WRITABLE = frozenset({"real", "imag"})


def _make_property(packet: Packet) -> property:
    def read(self: Any) -> Any:
        return packet.method((self,), {})

    def write(self: Any, value: Any) -> None:
        part = packet.method((self,), {})
        part.copy_(value) if isinstance(value, TensorBase) else part.fill_(value)

    writable = packet.name in _WRITABLE
    return property(read, write if writable else None, doc=packet.overloads[0].doc)


def _attach(op: OpDef) -> None:
    packet = find_packet(op.schema.name)
    if packet is None or op.schema.namespace != "aten":
        return
    name = _ATTRIBUTES.get(op.schema.name, op.schema.name)
    if name in Tensor.__dict__:
        return
    if "method" in op.variants:
        setattr(Tensor, name, _make_method(packet))
    elif "property" in op.variants:
        setattr(Tensor, name, _make_property(packet))


subscribe(_attach)


def _is_operand(value: Any) -> bool:
    return (
        isinstance(value, (TensorBase, *_NUMBERS))
        or (hasattr(value, "__array__") and getattr(value, "shape", None) == ())
    )


def _binary(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        packet = find_packet(name)
        assert packet is not None
        return packet(other, self) if reflected else packet(self, other)

    return operator


def _inplace(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        return getattr(self, name)(other)

    return operator


def _unary(name: str) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        packet = find_packet(name)
        assert packet is not None
        return packet(self)

    return operator


_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "matmul": "matmul", "pow": "pow",
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
_COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_UNARY = {"neg": "neg", "invert": "bitwise_not", "abs": "abs", "pos": "positive"}


def _install() -> None:
    for special, name in _BINARY.items():
        setattr(Tensor, f"__{special}__", _binary(name))
        setattr(Tensor, f"__r{special}__", _binary(name, reflected=True))
        setattr(Tensor, f"__i{special}__", _inplace(f"{name}_"))
    for special, name in _COMPARE.items():
        setattr(Tensor, f"__{special}__", _binary(name))
    for special, name in _UNARY.items():
        setattr(Tensor, f"__{special}__", _unary(name))
    delattr(Tensor, "__imatmul__")


_install()
