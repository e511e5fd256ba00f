"""Enters: operator declarations. Leaves: the registry of operators and their overload packets.

Invariant: `namespace.base_name` names one packet; a packet keeps its overloads in the order of
declaration, which is the order in which a call tries them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thunk.dispatch.call import call
from thunk.dispatch.hot import Entry
from thunk.ir.binding import Overloads, Style, binder_of
from thunk.ir.opdef import OpDef
from thunk.ir.returns import named_result
from thunk.types.tensor_base import is_tensor


class Packet:
    """All overloads of one name; calling it picks the overload that fits.

    Formulas call `inside`, which knows every overload; users call `function` and `method`, which
    know those declared for them.
    """

    __slots__ = (
        "__dict__", "_overloads", "function", "inside", "method", "name", "namespace", "overloads",
        "variadic",
    )  # fmt: skip

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.name = name
        self.overloads: list[OpDef] = []
        self.variadic = False
        self._overloads: dict[str, Overloads] = {}
        self.inside = self._entry("")
        self.function = self._entry("function")
        self.method = self._entry("method", Style.METHOD)

    def _entry(self, variant: str, style: Style = Style.FUNCTION) -> Entry:
        def resolve(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if self.variadic and args and style is Style.FUNCTION:
                args = self._gathered(args)
            return self._candidates(variant).resolve(args, kwargs, style)

        def slow(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            op, bound = resolve(args, kwargs)
            return named_result(op.schema, call(op, bound))

        def numbers() -> frozenset[int | str]:
            return number_places(self._candidates(variant).candidates, style)

        return Entry(self.name, slow, numbers, resolve)

    def changed(self) -> None:
        """Forget what was derived from the overloads; the next call derives it again."""
        self._overloads = {}
        for entry in (self.inside, self.function, self.method):
            entry.forget()

    def _candidates(self, variant: str) -> Overloads:
        found = self._overloads.get(variant)
        if found is None:
            if variant:
                ops = [op for op in self.overloads if variant in op.variants] or self.overloads
            else:
                # What users cannot call is tried last, so that a call means what users mean.
                ops = sorted(self.overloads, key=lambda op: "function" not in op.variants)
            found = self._overloads[variant] = Overloads(self.name, ops)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.inside.call(*args, **kwargs)

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


_NUMERIC = frozenset({"Scalar", "float", "int", "SymInt"})


def number_places(ops: Sequence[OpDef], style: Style) -> frozenset[int | str]:
    """Where numbers are inputs of a compiled step in every overload that takes one there."""
    runtime: set[int | str] = set()
    static: set[int | str] = set()
    for op in ops:
        form = binder_of(op.schema, op.numbers).form(style)
        composite = (op.functional or op).is_composite
        for place, (index, parameter) in enumerate(zip(form.order, form.parameters, strict=True)):
            argument = op.schema.arguments[index]
            if argument.type.base not in _NUMERIC and argument.name not in op.numbers:
                continue
            is_runtime = argument.name in op.runtime_scalars and not composite
            (runtime if is_runtime else static).update((place, parameter.name))
    return frozenset(runtime - static)


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

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found = _packets.get(("aten", name))
        if found is None:
            raise AttributeError(f"expected a declared operator, got {name!r}")
        setattr(self, name, found.inside.call)
        return found.inside.call


t: Any = _Names()
