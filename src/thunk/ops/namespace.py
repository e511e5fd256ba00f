"""Enters: `thunk.ops.ns.name.overload`. Leaves: callables that take schema names exactly.

Invariant: whatever is registered is reachable here, whoever declared it, and nothing else is.
"""

from __future__ import annotations

from typing import Any

from thunk.dispatch.call import call
from thunk.ir.binder import BindError
from thunk.ir.binding import Overloads, Style
from thunk.ir.opdef import OpDef
from thunk.ir.returns import named_result
from thunk.ops.registry import Packet, all_packets, find_packet


def _bound(
    overloads: Overloads, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[OpDef, tuple[Any, ...]]:
    """The overload that fits a call; operators called by schema refuse with a RuntimeError."""
    try:
        return overloads.resolve(args, kwargs, Style.OPERATOR)
    except BindError as error:
        raise RuntimeError(str(error)) from None


class OpOverload:
    """One overload as a function."""

    __slots__ = ("_overloads", "op")

    def __init__(self, op: OpDef) -> None:
        self.op = op
        self._overloads = Overloads(op.name, [op])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        op, bound = _bound(self._overloads, args, kwargs)
        return named_result(op.schema, call(op, bound))

    @property
    def _schema(self) -> Any:
        return self.op.schema

    @property
    def namespace(self) -> str:
        return self.op.schema.namespace

    def name(self) -> str:
        """The full name: `aten::add.Tensor`."""
        return self.op.full_name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverload) and other.op is self.op

    def __hash__(self) -> int:
        return hash(self.op.full_name)

    def __repr__(self) -> str:
        overload = self.op.schema.overload or "default"
        return f"<OpOverload(op='{self.namespace}.{self.op.name}', overload='{overload}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.op.name}.{self.op.schema.overload or 'default'}"


class OpOverloadPacket:
    """All overloads of one name; its attributes are the overloads."""

    __slots__ = ("_packet",)

    def __init__(self, packet: Packet) -> None:
        self._packet = packet

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        overloads = Overloads(self._packet.name, self._packet.overloads)
        op, bound = _bound(overloads, args, kwargs)
        return named_result(op.schema, call(op, bound))

    def overloads(self) -> list[str]:
        """Names of the overloads; the unnamed one is `default`."""
        return [op.schema.overload or "default" for op in self._packet.overloads]

    def __getattr__(self, name: str) -> OpOverload:
        return OpOverload(self._packet.overload(name))

    def __dir__(self) -> list[str]:
        return self.overloads()

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._packet.namespace}.{self._packet.name}')>"

    def __str__(self) -> str:
        return f"{self._packet.namespace}.{self._packet.name}"


def has_namespace(name: str) -> bool:
    """Whether any operator lives in namespace `name`."""
    return any(packet.namespace == name for packet in all_packets())


class OpNamespace:
    """The operators of one namespace."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        packet = find_packet(name, self._name)
        if packet is None:
            raise AttributeError(
                f"'_OpNamespace' '{self._name}' object has no attribute '{name}'; define it with "
                f"thunk.library.Library({self._name!r}, 'FRAGMENT').define(...)"
            )
        return OpOverloadPacket(packet)

    def __dir__(self) -> list[str]:
        return sorted({p.name for p in all_packets() if p.namespace == self._name})

    def __repr__(self) -> str:
        return f"<OpNamespace '{self._name}'>"
