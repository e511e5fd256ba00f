"""Enters: a schema and a Python call. Leaves: one bound value per argument, in schema order.

Invariant: a call binds if and only if PyTorch's Python parser would take it; `match` never builds
a message, `explain` never binds.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from thunk.ir.coerce import (
    REJECTED,
    WHOLE,
    Converter,
    bound_default,
    converter,
    first_rejected,
    kind_of,
    to_ints,
    type_name,
)
from thunk.ir.schema import MISSING, Argument, Schema, SchemaType
from thunk.types.tensor_base import TensorBase

# NumPy's spellings, which PyTorch takes where its own is absent.
NUMPY_NAMES = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}

_FIXES = {
    ("Tensor", "list"): "build one with torch.tensor(...)",
    ("Tensor", "tuple"): "build one with torch.tensor(...)",
    ("Tensor", "numpy.ndarray"): "wrap it with torch.from_numpy(...)",
    ("int", "float"): "convert it with int(...)",
    ("torch.dtype", "str"): "pass a dtype such as torch.float32",
    ("torch.dtype", "type"): "pass a dtype such as torch.float32",
    ("bool", "int"): "pass True or False",
    ("bool", "numpy.bool"): "convert it with bool(...)",
    ("bool", "Tensor"): "convert it with bool(...)",
    ("tuple of ints", "int"): "put it into a tuple",
    ("tuple of ints", "numpy.ndarray"): "convert it with .tolist()",
    ("tuple of ints", "Tensor"): "convert it with .tolist()",
    ("tuple of Tensors", "Tensor"): "put it into a tuple",
}


class BindError(TypeError):
    """A call does not fit a signature; `reason` says why, without the operator's name."""

    def __init__(self, name: str, reason: str) -> None:
        joint = ": " if reason.startswith(("argument", "expected")) else " "
        super().__init__(f"{name}(){joint}{reason}")
        self.reason = reason


class Style(enum.Enum):
    """How a call names and spreads its arguments."""

    FUNCTION = "function"  # `self` is called `input`
    METHOD = "method"  # `self` comes first, and ints in a row may stand for a list
    OPERATOR = "operator"  # exactly as in the schema


class _Parameter:
    """One parameter as Python sees it."""

    __slots__ = (
        "accepts_none", "aliases", "convert", "default", "keyword_only", "name", "none", "required",
        "type",
    )  # fmt: skip

    def __init__(self, argument: Argument, style: Style, accepts_numbers: bool) -> None:
        self.name = _python_name(argument) if style is Style.FUNCTION else argument.name
        self.aliases = () if style is Style.OPERATOR else NUMPY_NAMES.get(self.name, ())
        self.type = argument.type
        self.convert: Converter = converter(argument.type, accepts_numbers)
        self.required = argument.is_required
        self.default = bound_default(argument)
        # PyTorch's functions write an empty list as None: `max_pool2d(x, 2, stride=None)`.
        self.none = None if argument.type.optional else self.default
        self.accepts_none = argument.type.optional or self.default == ()
        self.keyword_only = argument.keyword_only

    def spelled(self) -> str:
        text = f"{type_name(self.type)} {self.name}"
        return text if self.required else f"{text} = {self.default!r}"


class Form:
    """A signature as one kind of caller sees it: function, method or operator (`torch.ops`)."""

    def __init__(self, schema: Schema, numbers: frozenset[str], style: Style) -> None:
        self.method = style is Style.METHOD
        self.order = _order(schema, self.method)
        arguments = [schema.arguments[index] for index in self.order]
        self.parameters = [_Parameter(each, style, each.name in numbers) for each in arguments]
        self.identity = self.order == tuple(range(len(self.order)))
        self.takes = sum(not each.keyword_only for each in self.parameters)
        self.own = 1 if self.method else 0
        self.outs = tuple(each.name for each in schema.outs) if len(schema.outs) > 1 else ()
        required = [i for i, each in enumerate(self.parameters) if each.required]
        self.least = required[-1] + 1 if required else 0
        self.checks = tuple(
            # Tensors are told by their class alone; the empty tuple admits nothing.
            (TensorBase if str(each.type) in ("Tensor", "Tensor?") else (), each)
            for each in self.parameters
        )
        self.defaults = tuple(each.default for each in self.parameters)
        self.spread = style is not Style.OPERATOR and self._spreads()

    def _spreads(self) -> bool:
        """Whether ints in a row stand for its one list of ints: `view(2, 3)`."""
        if self.takes != self.own + 1:
            return False
        kind = self.parameters[self.own].type
        return kind.is_list and kind.base in WHOLE

    def match(self, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> Any:
        """The bound arguments, or None."""
        if self.method and not args:
            return None
        count = len(args)
        if self.spread and count > self.own:
            args = self._gathered(args)
            count = len(args)
        if count > self.takes:
            return None
        if kwargs:
            return self._match_keywords(args, kwargs)
        if count < self.least:
            return None
        bound: list[Any] = []
        for value, (cls, parameter) in zip(args, self.checks):
            if not isinstance(value, cls):
                if value is None and parameter.accepts_none:
                    value = parameter.none
                else:
                    value = parameter.convert(value)
                    if value is REJECTED:
                        return None
            bound.append(value)
        bound += self.defaults[count:]
        return tuple(bound) if self.identity else self._ordered(bound)

    def _gathered(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Ints in a row made one tuple; any other call as it is."""
        own = self.own
        parameter = self.parameters[own]
        value = args[own]
        if isinstance(value, (tuple, list)) or (parameter.accepts_none and value is None):
            return args
        if parameter.type.size is not None and len(args) == own + 1:
            return args
        gathered = to_ints(args[own:])
        return args if gathered is REJECTED else (*args[:own], gathered)

    def _match_keywords(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        kwargs = self._spread_outs(kwargs)
        count, used = len(args), 0
        bound: list[Any] = []
        for index, parameter in enumerate(self.parameters):
            if index < count:
                value = args[index]
            else:
                value = _taken(parameter, kwargs)
                if value is MISSING:
                    if parameter.required:
                        return None
                    bound.append(parameter.default)
                    continue
                used += 1
            if value is None and parameter.accepts_none:
                bound.append(parameter.none)
                continue
            value = parameter.convert(value)
            if value is REJECTED:
                return None
            bound.append(value)
        if used != len(kwargs):
            return None
        return tuple(bound) if self.identity else self._ordered(bound)

    def _spread_outs(self, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Several results are given as one `out=` tuple; each has its own argument here."""
        outs = kwargs.get("out") if self.outs else None
        if not isinstance(outs, (tuple, list)) or len(outs) != len(self.outs):
            return kwargs
        rest = {name: value for name, value in kwargs.items() if name != "out"}
        return {**rest, **dict(zip(self.outs, outs, strict=True))}

    def _ordered(self, bound: list[Any]) -> tuple[Any, ...]:
        placed: list[Any] = [None] * len(bound)
        for index, value in zip(self.order, bound, strict=True):
            placed[index] = value
        return tuple(placed)

    def explain(self, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> str:
        """Why the call does not bind, in PyTorch's words."""
        if self.method and not args:
            return "missing the tensor that it is a method of"
        kwargs = self._spread_outs(kwargs or {})
        if self.spread and len(args) > self.own:
            args = self._gathered(args)
        if len(args) > self.takes and not (self.spread and len(args) > self.own + 1):
            return self._too_many(len(args))
        for index, parameter in enumerate(self.parameters):
            by_position = index < len(args)
            value = args[index] if by_position else _taken(parameter, kwargs)
            if value is MISSING:
                if parameter.required:
                    return self._missing(index, kwargs)
                continue
            if value is None and parameter.accepts_none:
                continue
            if parameter.convert(value) is REJECTED:
                position = index + 1 - self.own if by_position else None
                return _wrong_type(parameter, value, position)
        if len(args) > self.takes:
            return self._too_many(len(args))
        return self._unexpected(len(args), kwargs)

    def _too_many(self, count: int) -> str:
        takes, count = self.takes - self.own, count - self.own
        positional = self.parameters[self.own : self.takes]
        least = sum(each.required for each in positional)
        were = "was" if count == 1 else "were"
        if least != takes:
            return f"takes from {least} to {takes} positional arguments but {count} {were} given"
        plural = "" if takes == 1 else "s"
        return f"takes {takes} positional argument{plural} but {count} {were} given"

    def _missing(self, start: int, kwargs: Mapping[str, Any]) -> str:
        absent = [
            f'"{each.name}"' for each in self.parameters[start:]
            if each.required and _taken(each, kwargs) is MISSING
        ]  # fmt: skip
        text = f"missing {len(absent)} required positional arguments: {', '.join(absent)}"
        return text + self._suggestion(kwargs)

    def _unexpected(self, count: int, kwargs: Mapping[str, Any]) -> str:
        names = [each.name for each in self.parameters]
        for name in kwargs:
            if name in names[:count]:
                return f"got multiple values for argument '{name}'"
            if name not in names:
                given = {alias: each.name for each in self.parameters for alias in each.aliases}
                if name in given and given[name] not in kwargs and given[name] not in names[:count]:
                    continue
                return f"got an unexpected keyword argument '{name}'" + self._suggestion({name: 0})
        return "got arguments that do not fit the signature"

    def _suggestion(self, kwargs: Mapping[str, Any]) -> str:
        names = [each.name for each in self.parameters[self.own :]]
        for name in kwargs:
            close = [] if name in names else get_close_matches(name, names, 1)
            if close and not any(name in each.aliases for each in self.parameters):
                return f"; write '{close[0]}' instead of '{name}'"
        return ""

    def spelled(self) -> str:
        """The signature as PyTorch prints it in a list of candidates."""
        parts: list[str] = []
        for parameter in self.parameters[self.own :]:
            if parameter.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(parameter.spelled())
        return f"({', '.join(parts)})"


def _order(schema: Schema, method: bool) -> tuple[int, ...]:
    """Which argument each Python parameter is: a method's `self` comes first wherever it stands."""
    indices = list(range(len(schema.arguments)))
    if method and indices:
        own = next((i for i in indices if schema.arguments[i].name == "self"), 0)
        indices.insert(0, indices.pop(own))
    return tuple(indices)


def _python_name(argument: Argument) -> str:
    own = argument.name == "self" and argument.type == SchemaType("Tensor")
    return "input" if own else argument.name


def _taken(parameter: _Parameter, kwargs: Mapping[str, Any]) -> Any:
    value = kwargs.get(parameter.name, MISSING)
    if value is MISSING and parameter.aliases:
        for alias in parameter.aliases:
            value = kwargs.get(alias, MISSING)
            if value is not MISSING:
                return value
    return value


def _wrong_type(parameter: _Parameter, value: Any, position: int | None) -> str:
    wanted, got = type_name(parameter.type), kind_of(value)
    where = f"argument '{parameter.name}'"
    where += "" if position is None else f" (position {position})"
    element = first_rejected(parameter.type, value)
    if element is not None:
        found = kind_of(value[element])
        if parameter.type.base == "Tensor":
            number = 0 if position is None else position - 1
            return f"expected Tensor as element {element} in argument {number}, but got {found}"
        return f"{where} must be {wanted}, but found element of type {found} at pos {element}"
    fix = _FIXES.get((wanted, got))
    return f"{where} must be {wanted}, not {got}" + (f"; {fix}" if fix else "")


class Binder:
    """A schema made ready, on first use, for calls of every style."""

    __slots__ = ("_forms", "numbers", "schema")

    def __init__(self, schema: Schema, numbers: frozenset[str] = frozenset()) -> None:
        self.schema = schema
        self.numbers = numbers
        self._forms: dict[Style, Form] = {}

    def form(self, style: Style) -> Form:
        found = self._forms.get(style)
        if found is None:
            found = self._forms[style] = Form(self.schema, self.numbers, style)
        return found

    def bind(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
        style: Style = Style.FUNCTION,
    ) -> tuple[Any, ...]:
        """The bound arguments; raises `BindError`."""
        form = self.form(style)
        bound: tuple[Any, ...] | None = form.match(args, kwargs)
        if bound is None:
            raise BindError(self.schema.name, form.explain(args, kwargs))
        return bound


@cache
def binder_of(schema: Schema, numbers: frozenset[str] = frozenset()) -> Binder:
    """The binder of a schema, made on first use."""
    return Binder(schema, numbers)
