"""The gamma function's logarithm, its derivatives, incomplete forms, and Hurwitz's zeta."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import expected
from thunk.ops.declare import alias, composite, declare
from thunk.ops.pointwise.forms import EVERY_FORM, binary, mixed, unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import pointwise, promoted, promoted_to_inexact, refusing
from thunk.types.spec import TensorSpec

_REAL = refusing(promoted_to_inexact, "complex")
_SPECIAL = "function out"

unary("lgamma", "`log(|gamma(self)|)`.", lambda grad, self: grad * t.digamma(self), rule=_REAL)
unary(
    "digamma", "The derivative of lgamma.",
    lambda grad, self: grad * t.polygamma(1, self), rule=_REAL,
)  # fmt: skip
alias("special_gammaln", "lgamma", module="special", variants=_SPECIAL)
alias("special_digamma", "digamma", module="special", variants=_SPECIAL)
alias("special_psi", "digamma", module="special", variants=_SPECIAL)


def _polygamma(n: int, self: TensorSpec) -> TensorSpec:
    if n < 0:
        raise expected("a polygamma order that is not negative", n)
    return pointwise(_REAL)(self)


declare(
    "polygamma(int n, Tensor self) -> Tensor",
    doc="The derivative of digamma of order `n`.",
    spec=_polygamma,
    vjp={"self": lambda grad, n, self: grad * t.polygamma(n + 1, self)},
    variants=EVERY_FORM,
)
alias("special_polygamma", "polygamma", module="special", variants=_SPECIAL)


@composite("mvlgamma(Tensor self, int p) -> Tensor", variants=EVERY_FORM)
def mvlgamma(self: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension `p`."""
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    if self._spec.dtype.name == "bool":
        raise RuntimeError("mvlgamma: The input tensor may not be a boolean tensor; convert it")
    total = t.lgamma(self)
    for place in range(1, p):
        total = total + t.lgamma(self - place / 2)
    return total + p * (p - 1) / 4 * math.log(math.pi)


alias("special_multigammaln", "mvlgamma", module="special", variants=_SPECIAL)

_no_integers = refusing(promoted, "bool integral complex")


# Like PyTorch, none of these has a gradient in its first argument.
def _density(grad: Any, self: Any, other: Any) -> Any:
    return grad * t.exp((self - 1) * other.log() - other - t.lgamma(self))


binary(
    "igamma",
    "The regularised lower incomplete gamma function.",
    {"other": _density},
    rule=_no_integers,
)
binary(
    "igammac",
    "The regularised upper incomplete gamma function.",
    {"other": lambda grad, self, other: -_density(grad, self, other)},
    rule=_no_integers,
)
alias("special_gammainc", "igamma", module="special", variants=_SPECIAL)
alias("special_gammaincc", "igammac", module="special", variants=_SPECIAL)

declare(
    "special_zeta(Tensor self, Tensor other) -> Tensor",
    doc="Hurwitz's zeta: the sum of `(other + k) ** -self` over k = 0, 1, 2, ...",
    spec=mixed(refusing(promoted_to_inexact, "half complex")),
    vjp={
        "other": lambda grad, self, other: grad * -self * t.special_zeta(self + 1, other),
    },
    variants=_SPECIAL,
    numbers="self other",
    module="special",
)

