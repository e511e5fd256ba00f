"""Enters: operator declarations. Leaves: the methods and operators of `Tensor`.

Invariant: a method exists exactly when a declaration lists it; Python's operators map to names here
and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.dispatch.hot import Entry, Slow
from thunk.ir.opdef import OpDef
from thunk.ops.declare import subscribe
from thunk.ops.registry import Packet, find_packet
from thunk.tensor import indexing
from thunk.tensor.callables import copy_of_function, method_of, property_of
from thunk.tensor.operators import Operators
from thunk.tensor.tensor import Tensor
from thunk.types.tensor_base import TensorBase

_NO_KEYWORDS: dict[str, Any] = {}
_OPERANDS = (TensorBase, bool, int, float, complex)

# What Python calls the attributes whose operators have longer names.
ATTRIBUTES = {"numpy_T": "T", "matrix_H": "H"}


def _attach(op: OpDef) -> None:
    packet = find_packet(op.schema.name)
    if packet is None or op.schema.namespace != "aten":
        return
    name = ATTRIBUTES.get(op.schema.name, op.schema.name)
    if hasattr(Tensor, name):
        return
    if "method" in op.variants:
        setattr(Operators, name, method_of(packet, name))
    elif "property" in op.variants:
        setattr(Operators, name, property_of(packet))


subscribe(_attach)


def _is_operand(value: Any) -> bool:
    if isinstance(value, _OPERANDS):
        return True
    return hasattr(value, "__array__") and getattr(value, "shape", None) == ()


def _packet(name: str) -> Packet:
    packet = find_packet(name)
    if packet is None:
        raise NotImplementedError(f"{name}: expected a declared operator, got none")
    return packet


def _binary(name: str) -> Callable[[Any, Any], Any]:
    numbers = name != "matmul"

    def slow(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self, other = args
        if not (_is_operand(other) if numbers else isinstance(other, TensorBase)):
            return NotImplemented
        return _packet(name).method.slow((self, other), _NO_KEYWORDS)

    return _operator(name, slow)


def _operator(name: str, slow: Slow) -> Callable[..., Any]:
    """A Python operator that does what the method `name` does."""
    entry = Entry(
        name, slow, lambda: _packet(name).method.places(),
        lambda args, kwargs: _packet(name).method.resolve(args, kwargs),
    )  # fmt: skip
    return copy_of_function(entry.call)


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    def slow(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self, other = args
        if not isinstance(self, TensorBase):
            # Called by name: PyTorch's own subtraction gives up, what it wrote in C refuses.
            if name == "sub":
                return NotImplemented
            if name in _REFUSALS:
                raise _REFUSALS[name](
                    f"{name}: expected a Tensor as the right operand, got {type(self).__name__}"
                )
        if not _is_operand(other):
            return NotImplemented
        return _packet(name).function.slow((other, self), _NO_KEYWORDS)

    def numbers() -> frozenset[int | str]:
        return frozenset({1} if 0 in _packet(name).function.places() else ())

    entry = Entry(
        name, slow, numbers, lambda args, kwargs: _packet(name).function.resolve(args[::-1], kwargs)
    )
    return copy_of_function(entry.call)


def _inplace(name: str) -> Callable[[Any, Any], Any]:
    def slow(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self, other = args
        if not _is_operand(other):
            return NotImplemented
        return _packet(name).method.slow((self, other), _NO_KEYWORDS)

    return _operator(name, slow)


def _unary(name: str) -> Callable[[Any], Any]:
    def slow(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _packet(name).method.slow(args, kwargs)

    return _operator(name, slow)


BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "matmul": "matmul", "pow": "pow",
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
_REFUSALS: dict[str, type[Exception]] = {
    "add": TypeError, "mul": TypeError, "bitwise_and": TypeError, "bitwise_or": TypeError,
    "bitwise_xor": TypeError, "div": AttributeError,
}  # fmt: skip
COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
UNARY = {"neg": "neg", "invert": "bitwise_not", "abs": "abs", "pos": "positive"}


def _item(function: Callable[..., Any], windows: str) -> Callable[..., Any]:
    entry = Entry(function.__name__, lambda args, kwargs: function(*args, **kwargs))
    entry.windows = windows
    return copy_of_function(entry.call)


_ITEMS = {
    "getitem": _item(indexing.get_item, "read"), "setitem": _item(indexing.set_item, "write"),
    "delitem": indexing.delete_item,
}  # fmt: skip


def _install() -> None:
    for special, name in BINARY.items():
        setattr(Operators, f"__{special}__", _binary(name))
        setattr(Operators, f"__r{special}__", _reflected(name))
        setattr(Operators, f"__i{special}__", _inplace(f"{name}_"))
    for special, name in COMPARE.items():
        setattr(Operators, f"__{special}__", _binary(name))
    for special, name in UNARY.items():
        setattr(Operators, f"__{special}__", _unary(name))
    delattr(Operators, "__imatmul__")
    for prefix in ("", "r", "i"):  # Python 2's names, which PyTorch keeps
        setattr(Operators, f"__{prefix}div__", getattr(Tensor, f"__{prefix}truediv__"))
    for special, function in _ITEMS.items():
        setattr(Operators, f"__{special}__", function)
    for name in ("select", "narrow"):
        packet = _packet(name)
        packet.method.windows = packet.function.windows = "read"


_install()
