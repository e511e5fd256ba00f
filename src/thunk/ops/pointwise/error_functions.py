"""The error function, the normal distribution's, their inverses and scaled forms."""

from __future__ import annotations

import math
from typing import Any

from thunk.ops.declare import alias, composite
from thunk.ops.pointwise.forms import unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import promoted_to_inexact, refusing

_REAL = refusing(promoted_to_inexact, "complex")
_NO_HALF = refusing(promoted_to_inexact, "half complex")
_SPECIAL = "function out"
_SLOPE = 2 / math.sqrt(math.pi)

unary(
    "erf", "The error function.",
    lambda grad, self: _SLOPE * t.exp(-self * self) * grad, rule=_REAL,
)  # fmt: skip
unary(
    "erfc", "`1 - erf(self)`, precise where that is tiny.",
    lambda grad, self: -_SLOPE * t.exp(-self * self) * grad, rule=_REAL,
)  # fmt: skip
unary(
    "erfinv", "The inverse of the error function.",
    lambda grad, result: t.exp(result * result) * grad / _SLOPE, rule=_REAL,
)  # fmt: skip
for _name in ("erf", "erfc", "erfinv"):
    alias(f"special_{_name}", _name, module="special", variants=_SPECIAL)

unary(
    "special_erfcx", "`exp(self * self) * erfc(self)`.",
    lambda grad, self, result: (2 * self * result - _SLOPE) * grad,
    rule=_NO_HALF, variants=_SPECIAL, module="special",
)  # fmt: skip


@composite("special_ndtr(Tensor self) -> Tensor", variants=_SPECIAL, module="special")
def ndtr(self: Any) -> Any:
    """The normal distribution's function."""
    return t.erfc(self * -math.sqrt(0.5)) * 0.5


unary(
    "special_ndtri", "The normal distribution's quantile.",
    lambda grad, result: grad * math.sqrt(2 * math.pi) * t.exp(result * result / 2),
    rule=_NO_HALF, variants=_SPECIAL, module="special",
)  # fmt: skip
unary(
    "special_log_ndtr", "The logarithm of the normal distribution's function.",
    lambda grad, self: (
        grad / t.special_erfcx(self * -math.sqrt(0.5)) * math.sqrt(2 / math.pi)
    ),
    rule=_NO_HALF, variants=_SPECIAL, module="special",
)  # fmt: skip
