"""Enters: a signature in PyTorch's syntax. Leaves: a `Schema`.

Invariant: `parse(str(schema)) == schema`; text that is not a signature raises ValueError with the
position of the first character that does not fit.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NoReturn

from thunk.ir.signature import (
    ESCAPES,
    MISSING,
    Alias,
    Argument,
    Default,
    Missing,
    Return,
    Schema,
    SchemaType,
)

__all__ = [
    "MISSING", "Alias", "Argument", "Default", "Missing", "Return", "Schema", "SchemaType", "parse",
]  # fmt: skip

# Names that native signatures use for members of C++ enumerations.
REDUCTIONS = {"None": 0, "Mean": 1, "Sum": 2}
_WHOLE = frozenset({"int", "SymInt", "DeviceIndex"})

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?)"
    r"|(?P<name>-?[A-Za-z_]\w*)"
    r"|(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<mark>->|\.\.\.|::|[()\[\]?!*|,=.]))"
)


class _Parser:
    """Recursive descent over the tokens of one signature."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        position = 0
        end = len(text.rstrip())
        while position < end:
            found = _TOKEN.match(text, position)
            if found is None:
                start = position + len(text[position:]) - len(text[position:].lstrip())
                self._complain("a signature", start, repr(text[start]))
            assert found.lastgroup is not None
            group = found.lastgroup
            self.tokens.append((group, found.group(group), found.start(group)))
            position = found.end()
        self.tokens.append(("end", "", end))

    def _complain(self, want: str, position: int, got: str) -> NoReturn:
        raise ValueError(
            f"schema: expected {want}, got {got} at position {position} of {self.text!r}; "
            'write it as "name.overload(Tensor self, *, int dim=0) -> Tensor"'
        )

    def fail(self, want: str) -> NoReturn:
        kind, value, position = self.tokens[self.at]
        self._complain(want, position, "the end" if kind == "end" else repr(value))

    def peek(self, value: str, ahead: int = 0) -> bool:
        token = self.tokens[min(self.at + ahead, len(self.tokens) - 1)]
        return token[1] == value and token[0] != "string"

    def skip(self, value: str) -> bool:
        if self.peek(value):
            self.at += 1
            return True
        return False

    def need(self, value: str) -> None:
        if not self.skip(value):
            self.fail(repr(value))

    def identifier(self, want: str) -> str:
        kind, value, _ = self.tokens[self.at]
        if kind != "name" or value.startswith("-"):
            self.fail(want)
        self.at += 1
        return value

    def schema(self) -> Schema:
        namespace, name, overload = "aten", self.identifier("an operator's name"), ""
        if self.skip("::"):
            namespace, name = name, self.identifier("an operator's name")
        if self.skip("."):
            overload = self.identifier("an overload's name")
        arguments, variadic = self.arguments()
        self.need("->")
        variadic_returns = self.skip("...")
        returns = () if variadic_returns else self.returns()
        if self.tokens[self.at][0] != "end":
            self.fail("nothing more")
        return Schema(namespace, name, overload, arguments, returns, variadic, variadic_returns)

    def arguments(self) -> tuple[tuple[Argument, ...], bool]:
        self.need("(")
        found: list[Argument] = []
        keyword_only = variadic = False
        while not self.skip(")"):
            if self.skip("..."):
                variadic = True
                self.need(")")
                break
            if not keyword_only and self.skip("*"):
                keyword_only = True
            else:
                position = self.tokens[self.at][2]
                found.append(self.argument(keyword_only))
                if any(each.name == found[-1].name for each in found[:-1]):
                    self._complain("arguments of different names", position, repr(found[-1].name))
            if not self.peek(")"):
                self.need(",")
                if self.peek(")"):
                    self.fail("an argument")
        return tuple(found), variadic

    def argument(self, keyword_only: bool) -> Argument:
        kind, alias = self.type()
        name = self.identifier("an argument's name")
        default: Default | Missing = MISSING
        if self.skip("="):
            position = self.tokens[self.at][2]
            value = self.default(kind)
            default = _fitted(value, kind)
            if default is MISSING:
                self._complain(f"a default of type {kind}", position, repr(value))
        return Argument(name, kind, default, keyword_only, alias)

    def returns(self) -> tuple[Return, ...]:
        if not self.skip("("):
            return (self.result(),)
        found: list[Return] = []
        while not self.skip(")"):
            found.append(self.result())
            if not self.peek(")"):
                self.need(",")
        return tuple(found)

    def result(self) -> Return:
        kind, alias = self.type()
        name = self.identifier("a name") if self.tokens[self.at][0] == "name" else None
        return Return(kind, name, alias)

    def type(self) -> tuple[SchemaType, Alias | None]:
        base, parameters = self.base()
        alias = self.alias() if self.peek("(") else None
        optional = self.skip("?")
        kind = SchemaType(base, optional, parameters=parameters)
        while self.skip("["):
            size = None
            if self.tokens[self.at][0] == "number":
                size = self.whole()
            self.need("]")
            if kind.is_list:
                inner = replace(kind, optional=False)
                kind = SchemaType("List", kind.optional, parameters=(inner,))
            kind = replace(
                kind, is_list=True, size=size, optional_element=kind.optional, optional=False
            )
            if self.peek("("):
                alias = replace(self.alias(), of_list=True)
            if self.skip("?"):
                kind = replace(kind, optional=True)
        return kind, alias

    def base(self) -> tuple[str, tuple[SchemaType, ...]]:
        if self.skip("("):
            return "Tuple", self.parameters()
        name = self.identifier("a type")
        while self.skip("."):
            name += "." + self.identifier("a type")
        if name in ("Dict", "Future", "RRef", "Await", "Union") and self.skip("("):
            return name, self.parameters()
        return name, ()

    def parameters(self) -> tuple[SchemaType, ...]:
        found = []
        while not self.skip(")"):
            found.append(self.type()[0])
            if not self.peek(")"):
                self.need(",")
        return tuple(found)

    def alias(self) -> Alias:
        self.need("(")
        names = self.alias_set()
        is_write = self.skip("!")
        after = self.alias_set() if self.skip("->") else ()
        self.need(")")
        return Alias(names, is_write, after)

    def alias_set(self) -> tuple[str, ...]:
        found = []
        while True:
            found.append("*" if self.skip("*") else self.identifier("an alias"))
            if not self.skip("|"):
                return tuple(found)

    def whole(self) -> int:
        kind, value, _ = self.tokens[self.at]
        if kind != "number" or not value.isdigit():
            self.fail("a size")
        self.at += 1
        return int(value)

    def default(self, kind: SchemaType) -> Default:
        if self.skip("["):
            found = []
            while not self.skip("]"):
                found.append(self.default(kind))
                if not self.peek("]"):
                    self.need(",")
            return tuple(found)
        group, value, _ = self.tokens[self.at]
        if group == "end" or group == "mark":
            self.fail("a default value")
        self.at += 1
        if group == "string":
            return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[0]), value[1:-1])
        if group == "number":
            if value.endswith("j"):
                return complex(value)
            return int(value) if value.lstrip("-").isdigit() else float(value)
        return _named_default(value, kind)


def _named_default(name: str, kind: SchemaType) -> Default:
    if name in ("True", "False"):
        return name == "True"
    if name == "None":
        return None
    if name in ("inf", "-inf", "nan"):
        return float(name)
    if kind.base in _WHOLE and name in REDUCTIONS:
        return REDUCTIONS[name]
    return name


_FITTING: dict[str, tuple[type, ...]] = {
    "float": (float,), "bool": (bool,), "str": (str,), "Scalar": (bool, int, float, complex),
    "complex": (int, float, complex), "Tensor": (),
}  # fmt: skip


def _fitted(value: Default, kind: SchemaType) -> Default | Missing:
    """`value` in the form that the type wants, or MISSING if it does not fit."""
    if value is None:
        return None if kind.optional else MISSING
    if kind.is_list:
        element = replace(kind, is_list=False, optional=False, size=None)
        if not isinstance(value, tuple):
            if kind.size is None:
                return MISSING
            value = (value,) * kind.size
        fitted = tuple(_fitted(each, element) for each in value)
        return MISSING if MISSING in fitted else fitted  # type: ignore[return-value]  # just tested
    if isinstance(value, tuple):
        return MISSING
    if kind.base in _WHOLE:
        return value if type(value) is int else MISSING
    if kind.base == "float" and type(value) is int:
        return float(value)
    allowed = _FITTING.get(kind.base)
    if allowed is not None and type(value) not in allowed:
        return MISSING
    return value


def parse(text: str) -> Schema:
    """Read one signature; the namespace is `aten` unless the text names another."""
    return _Parser(text).schema()
