"""Enters: a Python call and the overloads of one name. Leaves: the overload that takes it, bound.

Invariant: `bind` tries one schema, `resolve` several: the first that binds wins, and if none does,
TypeError says why for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from thunk.ir.binder import Binder, BindError, Form, Style, binder_of
from thunk.ir.coerce import kind_of
from thunk.ir.schema import Argument, Schema

__all__ = [
    "BindError", "Binder", "Candidate", "Form", "Overloads", "Style", "bind", "binder_of",
    "in_order", "resolve",
]  # fmt: skip


class Candidate(Protocol):
    """What can be called: an operator overload."""

    @property
    def schema(self) -> Schema: ...
    @property
    def numbers(self) -> frozenset[str]: ...


C = TypeVar("C", bound=Candidate)


class Overloads:
    """The overloads of one name, made ready for calls."""

    def __init__(self, name: str, candidates: Sequence[Any]) -> None:
        self.name = name
        self.candidates = tuple(in_order(candidates))
        self.binders = tuple(binder_of(each.schema, each.numbers) for each in self.candidates)
        self.takes_out = any(each.schema.outs for each in self.candidates)
        self._forms: dict[Style, tuple[tuple[Any, Form], ...]] = {}

    def resolve(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
        style: Style = Style.FUNCTION,
    ) -> tuple[Any, tuple[Any, ...]]:
        """The overload that takes the call and its bound arguments; raises TypeError."""
        if kwargs and self.takes_out and kwargs.get("out", self) is None:
            kwargs = {name: value for name, value in kwargs.items() if name != "out"}
        forms = self._forms.get(style)
        if forms is None:
            pairs = zip(self.candidates, self.binders, strict=True)
            forms = tuple([(each, binder.form(style)) for each, binder in pairs])
            self._forms[style] = forms
        for candidate, form in forms:
            bound = form.match(args, kwargs)
            if bound is not None:
                return candidate, bound
        raise self._complaint(args, kwargs or {}, style)

    def _complaint(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], style: Style
    ) -> TypeError:
        # As with PyTorch's combined signatures, an out variant counts only if `out` is given.
        meant = [each for each in self.binders if bool(each.schema.outs) == ("out" in kwargs)]
        listed = meant or list(self.binders)
        plausible = [each for each in listed if _plausible(each.schema, len(args) + len(kwargs))]
        if len(plausible) == 1 or len(listed) == 1:
            single = (plausible if len(plausible) == 1 else listed)[0]
            return BindError(self.name, single.form(style).explain(args, kwargs))
        call = _spell_call(args[1:] if style is Style.METHOD else args, kwargs)
        lines = [
            f"{self.name}() received an invalid combination of arguments - got ({call}), "
            "but expected one of:"
        ]
        for binder in listed:
            form = binder.form(style)
            lines.append(f" * {form.spelled()}")
            lines.append(f"      didn't match: {form.explain(args, kwargs)}")
        return TypeError("\n".join(lines) + "\n")


def _plausible(schema: Schema, count: int) -> bool:
    least = sum(each.is_required for each in schema.arguments)
    return least <= count <= len(schema.arguments)


def _spell_call(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    parts = [_spell_value(each) for each in args]
    parts += [f"{name}={_spell_value(value)}" for name, value in kwargs.items()]
    return ", ".join(parts)


def _spell_value(value: Any) -> str:
    if not isinstance(value, (tuple, list)) or not value:
        return kind_of(value)
    return f"{kind_of(value)} of [{', '.join(kind_of(each) for each in value)}]"


def bind(
    schema: Schema,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    numbers: frozenset[str] = frozenset(),
    method: bool = False,
) -> tuple[Any, ...]:
    """Bind one call to one schema; raises `BindError`."""
    style = Style.METHOD if method else Style.FUNCTION
    return binder_of(schema, numbers).bind(args, kwargs, style)


@lru_cache(maxsize=4096)
def _overloads(name: str, candidates: tuple[Any, ...]) -> Overloads:
    return Overloads(name, candidates)


def resolve(
    name: str,
    candidates: Sequence[C],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    method: bool = False,
) -> tuple[C, tuple[Any, ...]]:
    """Bind a call to the first candidate that takes it; raises TypeError in PyTorch's manner."""
    style = Style.METHOD if method else Style.FUNCTION
    found: tuple[C, tuple[Any, ...]] = _overloads(name, tuple(candidates)).resolve(
        args, kwargs, style
    )
    return found


def in_order(candidates: Sequence[C]) -> list[C]:
    """The order in which PyTorch tries overloads: as declared, but tensors before numbers.

    A dimensionless tensor is also a number, and an int may stand for a list, so the narrower
    overload has to come first.
    """
    waiting = list(candidates)
    found: list[C] = []
    while waiting:
        for candidate in waiting:
            rivals = (each for each in waiting if each is not candidate)
            if not any(_narrower(each.schema, candidate.schema) for each in rivals):
                break
        found.append(candidate)
        waiting.remove(candidate)
    return found


def _narrower(first: Schema, second: Schema) -> bool:
    """Whether `first` must be tried before `second`."""
    ours, theirs = _inputs(first), _inputs(second)
    if len(ours) != len(theirs):
        return False
    pairs = [(str(a.type), str(b.type)) for a, b in zip(ours, theirs, strict=True)]
    return any(a != b for a, b in pairs) and all(a == b or _wins(a, b) for a, b in pairs)


def _inputs(schema: Schema) -> list[Argument]:
    return [each for each in schema.arguments if each not in schema.outs]


def _wins(ours: str, theirs: str) -> bool:
    return (
        (theirs == "Scalar" and ours == "Tensor")
        or (theirs == "Scalar?" and ours == "Tensor?")
        or (theirs == "int[]" and ours in ("int", "int?"))
        or (theirs == "Tensor[]" and "[]" in ours)
        or (theirs == "SymInt[]" and ours == "int[]")
        or (theirs in ("int", "SymInt") and ours == "Tensor")
    )
