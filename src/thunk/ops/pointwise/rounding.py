"""Rounding to whole numbers or decimals, and what it cuts off."""

from __future__ import annotations

from typing import Any

from thunk.ops.declare import alias, composite, declare
from thunk.ops.pointwise.forms import EVERY_FORM, no_slope, unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import first_dtype, pointwise, refusing

_real = refusing(first_dtype, "bool complex")
_fractional = refusing(first_dtype, "bool integral complex")

unary("ceil", "The next whole number above.", no_slope, rule=_real)
unary("floor", "The next whole number below.", no_slope, rule=_real)
unary("trunc", "The whole part, towards zero.", no_slope, rule=_real)
unary("round", "The nearest whole number, ties to even.", no_slope, rule=_real)
alias("fix", "trunc")

declare(
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    doc="The nearest multiple of `10 ** -decimals`, ties to even.",
    spec=pointwise(_fractional),
    vjp={"self": no_slope},
    variants=EVERY_FORM,
)


@composite(
    "special_round(Tensor self, *, int decimals=0) -> Tensor",
    variants="function out",
    module="special",
)
def special_round(self: Any, decimals: int = 0) -> Any:
    """The nearest multiple of `10 ** -decimals`, ties to even."""
    return t.round(self, decimals=decimals)


unary("frac", "The part behind the point, with its sign.", lambda grad: grad, rule=_fractional)
