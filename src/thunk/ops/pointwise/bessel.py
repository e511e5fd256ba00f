"""Bessel functions, Airy's function and orthogonal polynomials."""

from __future__ import annotations

from typing import Any

from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import alias, declare
from thunk.ops.pointwise.forms import mixed, unary
from thunk.ops.registry import t
from thunk.ops.rules.pointwise import pointwise, promoted_to_inexact, refusing

_REAL = refusing(promoted_to_inexact, "complex")
_NO_HALF = refusing(promoted_to_inexact, "half complex")
_SPECIAL = "function out"
_NO_GRADIENT = MissingGradient("PyTorch defines no gradient for it either")
_TINY = {"float64": 2.220446049250313e-16, "float32": 1.1920928955078125e-07}


def _i1_slope(grad: Any, self: Any, result: Any) -> Any:
    far, apart = _away_from_zero(self)
    slope = t.i0(self) - result / apart
    return grad * t.where(far, slope, t.full_like(slope, 0.5))


def _i1e_slope(grad: Any, self: Any, result: Any) -> Any:
    far, apart = _away_from_zero(self)
    slope = t.special_i0e(self) - result * (t.sgn(self) + 1 / apart)
    return grad * t.where(far, slope, t.full_like(slope, 0.5))


def _away_from_zero(self: Any) -> tuple[Any, Any]:
    """Where `self` can be divided by, and `self` with 1 in the other places."""
    tiny = _TINY.get(self._spec.dtype.name, _TINY["float32"])
    far = self.abs() > tiny
    return far, t.where(far, self, t.full_like(self, 1))


unary("i0", "The modified Bessel function of order 0.",
      lambda grad, self: grad * t.special_i1(self), rule=_REAL)  # fmt: skip
alias("special_i0", "i0", module="special", variants=_SPECIAL)
unary(
    "special_i0e", "`exp(-|self|) * i0(self)`.",
    lambda grad, self, result: grad * (t.special_i1e(self) - t.sgn(self) * result),
    rule=_REAL, variants=_SPECIAL, module="special",
)  # fmt: skip
unary(
    "special_i1", "The modified Bessel function of order 1.",
    _i1_slope, rule=_REAL, variants=_SPECIAL, module="special",
)  # fmt: skip
unary(
    "special_i1e", "`exp(-|self|) * i1(self)`.",
    _i1e_slope, rule=_REAL, variants=_SPECIAL, module="special",
)  # fmt: skip


def _plain(name: str, argument: str, doc: str) -> None:
    declare(
        f"special_{name}(Tensor {argument}) -> Tensor",
        doc=doc,
        spec=pointwise(_NO_HALF),
        vjp=_NO_GRADIENT,
        variants=_SPECIAL,
        module="special",
    )


for _order in (0, 1):
    _plain(f"bessel_j{_order}", "self", f"Bessel's function of the first kind, order {_order}.")
    _plain(f"bessel_y{_order}", "self", f"Bessel's function of the second kind, order {_order}.")
    for _letter, _kind in (("i", "first"), ("k", "second")):
        _plain(
            f"modified_bessel_{_letter}{_order}", "self",
            f"The modified Bessel function of the {_kind} kind, order {_order}.",
        )  # fmt: skip
    _plain(
        f"scaled_modified_bessel_k{_order}", "x",
        f"`exp(x)` times the modified Bessel function of the second kind, order {_order}.",
    )  # fmt: skip
_plain("spherical_bessel_j0", "x", "The spherical Bessel function of order 0: `sin(x) / x`.")
_plain("airy_ai", "x", "Airy's function.")


def _polynomial(name: str, doc: str) -> None:
    declare(
        f"special_{name}(Tensor x, Tensor n) -> Tensor",
        doc=f"{doc} of degree `n`.",
        spec=mixed(_NO_HALF),
        vjp=_NO_GRADIENT,
        variants=_SPECIAL,
        numbers="x n",
        module="special",
    )


for _letter, _number in (("t", "first"), ("u", "second"), ("v", "third"), ("w", "fourth")):
    _polynomial(
        f"chebyshev_polynomial_{_letter}", f"Chebyshev's polynomial of the {_number} kind,"
    )
    _polynomial(
        f"shifted_chebyshev_polynomial_{_letter}",
        f"Chebyshev's polynomial of the {_number} kind on [0, 1],",
    )
_polynomial("hermite_polynomial_h", "The physicist's Hermite polynomial")
_polynomial("hermite_polynomial_he", "The probabilist's Hermite polynomial")
_polynomial("laguerre_polynomial_l", "Laguerre's polynomial")
_polynomial("legendre_polynomial_p", "Legendre's polynomial")

