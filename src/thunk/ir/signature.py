"""Enters: the parts of a signature. Leaves: a `Schema`, frozen data about one operator overload.

Invariant: `str(schema)` is PyTorch's signature syntax; `schema.parse` reads it back as equal data.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from string import ascii_lowercase


class Missing(enum.Enum):
    """The type of `MISSING`, which marks an argument that has no default."""

    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing.MISSING

Default = None | bool | int | float | complex | str | tuple["Default", ...]

# Types whose defaults are names, not strings.
_SYMBOLIC = frozenset({"ScalarType", "Layout", "MemoryFormat", "Device", "QScheme"})

ESCAPES = {
    "n": "\n", "t": "\t", "f": "\f", "v": "\v", "r": "\r", "a": "\a", "b": "\b",
    "\\": "\\", "'": "'", '"': '"',
}  # fmt: skip
_ESCAPED = {meaning: f"\\{letter}" for letter, meaning in ESCAPES.items() if meaning != "'"}


@dataclass(frozen=True, slots=True)
class Alias:
    """What an argument or result shares memory with: the `a!` of `Tensor(a!)`."""

    names: tuple[str, ...]
    is_write: bool = False
    after: tuple[str, ...] = ()
    of_list: bool = False  # written behind the brackets of a list: `t[](a!)`

    def __str__(self) -> str:
        text = "|".join(self.names) + ("!" if self.is_write else "")
        if self.after:
            text += " -> " + "|".join(self.after)
        return f"({text})"


@dataclass(frozen=True, slots=True)
class SchemaType:
    """`Tensor?[2]?` is base `Tensor`, optional_element, is_list, size 2, optional."""

    base: str
    optional: bool = False
    is_list: bool = False
    size: int | None = None
    optional_element: bool = False
    parameters: tuple[SchemaType, ...] = ()  # of `Dict(str, t)`, of a tuple, of a nested list

    @property
    def is_tensor(self) -> bool:
        """Whether tensors pass through it, one or a list."""
        return self.base == "Tensor"

    def spelled(self, alias: Alias | None = None) -> str:
        """The type as written in a signature, with its alias in the right place."""
        inner = ", ".join(map(str, self.parameters))
        if self.base == "Tuple":
            text = f"({inner})"
        elif self.base == "List":
            text = inner
        else:
            text = f"{self.base}({inner})" if inner else self.base
        mark = str(alias) if alias else ""
        if not self.is_list:
            return f"{text}{mark}" + ("?" if self.optional else "")
        if alias is None or not alias.of_list:
            text, mark = text + mark, ""
        text += "?" if self.optional_element else ""
        text += f"[{'' if self.size is None else self.size}]"
        return f"{text}{mark}" + ("?" if self.optional else "")

    def __str__(self) -> str:
        return self.spelled()


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter of an operator."""

    name: str
    type: SchemaType
    default: Default | Missing = MISSING
    keyword_only: bool = False
    alias: Alias | None = None

    @property
    def is_required(self) -> bool:
        return self.default is MISSING

    @property
    def is_written(self) -> bool:
        """Whether the operator changes this argument."""
        return self.alias is not None and self.alias.is_write

    def __str__(self) -> str:
        text = f"{self.type.spelled(self.alias)} {self.name}"
        if self.default is MISSING:
            return text
        return f"{text}={_spell_default(self.default, self.type)}"


@dataclass(frozen=True, slots=True)
class Return:
    """One result of an operator; most have no name."""

    type: SchemaType
    name: str | None = None
    alias: Alias | None = None

    def __str__(self) -> str:
        text = self.type.spelled(self.alias)
        return f"{text} {self.name}" if self.name else text


@dataclass(frozen=True, slots=True)
class Schema:
    """The signature of one operator overload."""

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]
    variadic: bool = False
    variadic_returns: bool = False

    def __hash__(self) -> int:
        # Every call looks a binder up by its schema; full names are unique, so this suffices.
        return hash((self.name, self.overload))

    @property
    def full_name(self) -> str:
        """`aten::add.Tensor`."""
        dot = f".{self.overload}" if self.overload else ""
        return f"{self.namespace}::{self.name}{dot}"

    @property
    def positional(self) -> tuple[Argument, ...]:
        return tuple(each for each in self.arguments if not each.keyword_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        return tuple(each for each in self.arguments if each.keyword_only)

    @property
    def outs(self) -> tuple[Argument, ...]:
        """The arguments that `out=` fills: written tensors after the star."""
        return tuple(each for each in self.keyword_only if each.is_written)

    @property
    def is_inplace(self) -> bool:
        """Whether this is the variant that overwrites `self`."""
        dunder = self.name.startswith("__i") and self.name.endswith("__")
        if not dunder and (not self.name.endswith("_") or self.name.endswith("__")):
            return False
        return any(each.name == "self" and each.is_written for each in self.arguments)

    def index_of(self, name: str) -> int:
        """The position of the argument called `name` among all arguments."""
        for index, argument in enumerate(self.arguments):
            if argument.name == name:
                return index
        known = ", ".join(each.name for each in self.arguments)
        raise KeyError(f"{self.full_name}: expected one of the arguments {known}, got {name!r}")

    def with_inplace(self) -> Schema:
        """The variant that overwrites `self`: `add_.Tensor(Tensor(a!) self, ...) -> Tensor(a!)`.

        PyTorch calls the overwritten argument `self` even where the original says `input`.
        """
        own = [i for i, each in enumerate(self.arguments) if each.name == "self"]
        index = own[0] if own else 0
        if not self.arguments or self.arguments[index].type != SchemaType("Tensor"):
            raise ValueError(
                f"{self.full_name}: expected an argument 'self' or a first argument of type Tensor "
                "for an in-place variant, got none; declare the operator without one"
            )
        if len(self.returns) != 1 or self.returns[0].type != SchemaType("Tensor"):
            raise ValueError(
                f"{self.full_name}: expected one Tensor result for an in-place variant, "
                f"got {_spell_returns(self.returns)}"
            )
        written = Alias(("a",), is_write=True)
        arguments = tuple(
            replace(each, name="self", alias=written) if i == index else _unshared(each)
            for i, each in enumerate(self.arguments)
        )
        is_dunder = self.name.startswith("__") and self.name.endswith("__")
        name = f"__i{self.name[2:]}" if is_dunder else f"{self.name}_"
        result = Return(SchemaType("Tensor"), alias=written)
        return replace(self, name=name, arguments=arguments, returns=(result,))

    def with_out(self) -> Schema:
        """The variant that writes its results into tensors of the caller."""
        if not self.returns or any(each.type.base != "Tensor" for each in self.returns):
            raise ValueError(
                f"{self.full_name}: expected Tensor results for an out variant, "
                f"got {_spell_returns(self.returns)}"
            )
        used = {name for each in self.arguments if each.is_written for name in _names(each)}
        letters = [each for each in ascii_lowercase if each not in used]
        outs, returns = [], []
        for index, result in enumerate(self.returns):
            alias = Alias((letters[index],), is_write=True)
            name = "out" if len(self.returns) == 1 else result.name or f"out{index}"
            outs.append(Argument(name, result.type, keyword_only=True, alias=alias))
            returns.append(replace(result, alias=alias))
        if any(each.type.is_list for each in self.returns):
            returns = []  # as PyTorch: a list of results is written, not returned
        kept = tuple(_unshared(each) for each in self.arguments)
        overload = f"{self.overload}_out" if self.overload else "out"
        arguments = (*kept, *outs)
        return replace(self, overload=overload, arguments=arguments, returns=tuple(returns))

    def __str__(self) -> str:
        parts: list[str] = []
        starred = False
        for argument in self.arguments:
            if argument.keyword_only and not starred:
                parts.append("*")
                starred = True
            parts.append(str(argument))
        if self.variadic:
            parts.append("...")
        results = "..." if self.variadic_returns else _spell_returns(self.returns)
        return f"{self.full_name}({', '.join(parts)}) -> {results}"


def _names(argument: Argument) -> tuple[str, ...]:
    return argument.alias.names if argument.alias else ()


def _unshared(argument: Argument) -> Argument:
    """The argument in a variant whose result is no view of it; what is written stays written."""
    return argument if argument.is_written else replace(argument, alias=None)


def _spell_returns(returns: tuple[Return, ...]) -> str:
    inner = ", ".join(map(str, returns))
    if len(returns) == 1 and returns[0].name is None and returns[0].type.base != "Tuple":
        return inner
    return f"({inner})"


def _spell_default(value: Default, kind: SchemaType) -> str:
    if isinstance(value, tuple):
        if kind.size is not None and len(value) == kind.size and len(set(value)) == 1:
            return _spell_default(value[0], kind)
        return "[" + ", ".join(_spell_default(each, kind) for each in value) + "]"
    if isinstance(value, str) and kind.base not in _SYMBOLIC:
        quoted = "".join(_ESCAPED.get(each, each) for each in value)
        return f'"{quoted}"'
    return str(value) if isinstance(value, str) else repr(value)
