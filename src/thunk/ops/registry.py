"""Enters: operator declarations. Leaves: the registry of operators and their overload packets.

Invariant: `namespace.base_name` names one packet; a packet keeps its overloads in the order of
declaration, which is the order in which a call tries them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thunk.dispatch.call import call
from thunk.ir.binding import Overloads, Style
from thunk.ir.opdef import OpDef
from thunk.ir.returns import named_result
from thunk.types.tensor_base import is_tensor


class Packet:
    """All overloads of one name; calling it picks the overload that fits.

    Formulas call it directly and may use every overload; users call `function` and `method`, which
    know only the overloads declared for them.
    """

    __slots__ = (
        "__dict__", "_as_function", "_as_method", "_inside", "name", "namespace", "overloads",
        "variadic",
    )  # fmt: skip

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.name = name
        self.overloads: list[OpDef] = []
        self.variadic = False
        self.changed()

    def changed(self) -> None:
        """Forget what was derived from the overloads; the next call derives it again."""
        self._inside: Overloads | None = None
        self._as_function: Overloads | None = None
        self._as_method: Overloads | None = None

    def _ready(self, variant: str) -> Overloads:
        ops = [op for op in self.overloads if variant in op.variants]
        return Overloads(self.name, ops or self.overloads)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.variadic and args:
            args = self._gathered(args)
        overloads = self._inside
        if overloads is None:
            # What users cannot call is tried last, so that a call means what it means to users.
            ops = sorted(self.overloads, key=lambda op: "function" not in op.variants)
            overloads = self._inside = Overloads(self.name, ops)
        op, bound = overloads.resolve(args, kwargs)
        return named_result(op.schema, call(op, bound))

    def function(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call `thunk.name(*args, **kwargs)`."""
        if self.variadic and args:
            args = self._gathered(args)
        overloads = self._as_function
        if overloads is None:
            overloads = self._as_function = self._ready("function")
        op, bound = overloads.resolve(args, kwargs)
        return named_result(op.schema, call(op, bound))

    def _gathered(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Tensors in a row made the one list that the operator takes, after what is none."""
        start = next((at for at, each in enumerate(args) if is_tensor(each)), len(args))
        row = args[start:]
        schemas = [op.schema for op in self.overloads]
        kinds = [each.arguments[start].type for each in schemas if start < len(each.arguments)]
        if not row or not any(each.is_list for each in kinds):
            return args
        if not all(is_tensor(each) for each in row):
            mixed = any(each.is_list and each.base == "Any" for each in kinds)
            return (*args[:start], row) if mixed else args
        single = len(row) == 1 and any(each.base == "Tensor" and not each.is_list for each in kinds)
        return args if single else (*args[:start], row)

    def method(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call `args[0].name(*args[1:], **kwargs)`."""
        overloads = self._as_method
        if overloads is None:
            overloads = self._as_method = self._ready("method")
        op, bound = overloads.resolve(args, kwargs, Style.METHOD)
        return named_result(op.schema, call(op, bound))

    def overload(self, name: str) -> OpDef:
        """The overload called `name` ("default" for the unnamed one)."""
        wanted = "" if name == "default" else name
        for op in self.overloads:
            if op.schema.overload == wanted:
                return op
        raise AttributeError(
            f"{self.name}: expected an overload of {[o.schema.overload for o in self.overloads]}, "
            f"got {name!r}"
        )

    def __repr__(self) -> str:
        return f"<operator {self.namespace}::{self.name}>"


_packets: dict[tuple[str, str], Packet] = {}
_ops: dict[str, OpDef] = {}


def add_op(op: OpDef) -> None:
    """Enter `op` into its packet; a name and overload can be declared once."""
    if op.full_name in _ops:
        raise RuntimeError(
            f"{op.full_name}: expected one declaration, got a second; the first is at "
            f"{_ops[op.full_name].where}"
        )
    _ops[op.full_name] = op
    key = (op.schema.namespace, op.schema.name)
    packet = _packets.get(key)
    if packet is None:
        packet = _packets[key] = Packet(*key)
    packet.overloads.append(op)
    packet.changed()
    packet.variadic = packet.variadic or "variadic" in op.variants


def remove_op(op: OpDef) -> None:
    """Undo `add_op` (user libraries are destroyed)."""
    del _ops[op.full_name]
    key = (op.schema.namespace, op.schema.name)
    _packets[key].overloads.remove(op)
    _packets[key].changed()
    if not _packets[key].overloads:
        del _packets[key]


def all_ops() -> Iterator[OpDef]:
    """Every declared operator overload."""
    return iter(list(_ops.values()))


def all_packets() -> Iterator[Packet]:
    """Every packet."""
    return iter(list(_packets.values()))


def find_op(full_name: str) -> OpDef | None:
    """The operator called `ns::name.overload`, if declared."""
    return _ops.get(full_name)


def find_packet(name: str, namespace: str = "aten") -> Packet | None:
    """The packet called `name`, if any overload of it is declared."""
    return _packets.get((namespace, name))


class _Names:
    """Attribute access to packets: `t.add(a, b)`. Gradients and decompositions call ops with it."""

    def __getattr__(self, name: str) -> Packet:
        found = _packets.get(("aten", name))
        if found is None:
            raise AttributeError(f"expected a declared operator, got {name!r}")
        setattr(self, name, found)
        return found


t: Any = _Names()
