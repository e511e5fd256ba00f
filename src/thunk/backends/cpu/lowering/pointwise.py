"""Enters: a function from operands to a term. Leaves: the lowering of an elementwise operator.

Invariant: operands arrive broadcast to the result, unconverted; `Operands` converts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.backends.cpu.lowering.blocked import natural
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, lowering
from thunk.types.dtype import dtype


class Operands:
    """The arguments of one call, as terms."""

    def __init__(self, at: At, domain: Domain) -> None:
        self.at = at
        self.domain = domain
        self.element = at.result.dtype

    def __call__(self, value: Any, element: dtype | None = None) -> Expression:
        """Converted to the result's dtype, or to `element`."""
        return self.domain.operand(value, element or self.element)

    def scalar(self, value: Any) -> Expression:
        """Converted; a lone number keeps the precision that is computed in."""
        return self.domain.scalar(value, self.element)

    def raw(self, value: Any) -> Expression:
        """A tensor's element as it is."""
        return self.domain.read(value)


Body = Callable[..., Expression]


def pointwise(*names: str, needs: str = "") -> Callable[[Body], Body]:
    """Register `body(operands, *arguments)` as the lowering of elementwise operators.

    `needs` names functions of vector mathematics without which the lowering does not apply.
    """

    def add(body: Body) -> Body:
        @lowering(*names)
        def lower(at: At, *args: Any) -> None:
            at.math_known(needs)
            domain = natural(at, args)
            domain.store(body(Operands(at, domain), *args))

        return body

    return add
