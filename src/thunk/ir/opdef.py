"""Enters: the facts of one operator. Leaves: `OpDef`, the record everything else derives from.

Invariant: an operator that is not composite states its gradient or the reason for having none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thunk.ir.schema import Schema

Formula = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Gradient:
    """How the gradients of `inputs` follow from those of the results.

    The formula's parameter names say what it reads: argument names (saved values), `result`,
    `results`, `grad`, `grads`, `needed`, or `<argument>_spec`. Only what is named is kept.
    """

    inputs: tuple[str, ...]
    formula: Formula
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoGradient:
    """Why no gradient flows: the results are constants as far as calculus is concerned."""

    reason: str


@dataclass(frozen=True, slots=True)
class MissingGradient:
    """A gradient exists but is not written; backward raises with this reason."""

    reason: str


GradientRule = tuple[Gradient, ...] | NoGradient | MissingGradient


def gradients(rules: Mapping[str | tuple[str, ...], Formula]) -> tuple[Gradient, ...]:
    """Turn a declaration's `vjp` mapping into `Gradient` records."""
    found = []
    for names, formula in rules.items():
        inputs = (names,) if isinstance(names, str) else names
        found.append(Gradient(inputs, formula, tuple(inspect.signature(formula).parameters)))
    return tuple(found)


@dataclass(eq=False, slots=True)
class OpDef:
    """One operator overload."""

    schema: Schema
    doc: str
    spec: Callable[..., Any] | None = None
    gradient: GradientRule | None = None
    decompose: Callable[..., Any] | None = None
    view: bool = False
    random: bool = False
    raises_on_data: frozenset[str] = frozenset()  # whose values decide
    dynamic_shape: bool = False
    numbers: frozenset[str] = frozenset()
    static: frozenset[str] = frozenset()
    variants: frozenset[str] = frozenset({"function"})
    module: str = ""
    autocast: str = ""
    constants: frozenset[int] = frozenset()  # results that pass no gradient on
    functional: OpDef | None = None  # what an in-place or out= variant is derived from
    where: str = ""
    saved: frozenset[str] = field(default=frozenset())

    @property
    def name(self) -> str:
        """The base name, as in error messages: `add`."""
        return self.schema.name

    @property
    def full_name(self) -> str:
        return self.schema.full_name

    @property
    def is_composite(self) -> bool:
        """Whether autograd sees the decomposition instead of the operator."""
        return self.decompose is not None and self.gradient is None

    @property
    def runtime_scalars(self) -> frozenset[str]:
        """Arguments that are inputs of the compiled step and never part of its key."""
        numbers = {
            argument.name for argument in self.schema.arguments
            if argument.type.base in ("Scalar", "float") and not argument.type.is_list
        }  # fmt: skip
        return frozenset((numbers | self.numbers) - self.static)

    @property
    def needs_values(self) -> bool:
        """Whether a call cannot wait: for its shape, or since users catch what it raises.

        A bad index is reported by the run that meets it; a matrix without a factorization is
        what programs ask for. Neither can one wait whose results are Python values or lists.
        """
        if self.dynamic_shape or (self.raises_on_data and "linalg" in self.name):
            return True
        return not self.view and any(
            each.type.base != "Tensor" or each.type.is_list for each in self.schema.returns
        )

    def checks(self, args: tuple[Any, ...]) -> bool | None:
        """Whether this call raises for its values, as its argument says; None without one."""
        for argument, value in zip(self.schema.arguments, args, strict=True):
            if argument.name == "check_errors":
                return bool(value)
        return None

    def __repr__(self) -> str:
        return f"<OpDef {self.full_name}>"
