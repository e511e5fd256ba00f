"""Questions about each element: is it NaN, infinite, finite, real; and about a tensor's dtype."""

from __future__ import annotations

from typing import Any

from thunk.ir.opdef import NoGradient
from thunk.ops.declare import composite
from thunk.ops.pointwise.forms import unary
from thunk.ops.rules.pointwise import always_bool, refusing

_BOOLEAN = NoGradient("the result is boolean")
_no_complex = refusing(always_bool, "complex", RuntimeError)

unary(
    "isnan", "Where elements are not a number.", _BOOLEAN,
    rule=always_bool, variants="function method",
)  # fmt: skip
unary(
    "isinf", "Where elements are infinite.", _BOOLEAN,
    rule=always_bool, variants="function method",
)  # fmt: skip
unary(
    "isfinite", "Where elements are finite.", _BOOLEAN,
    rule=always_bool, variants="function method",
)  # fmt: skip
unary(
    "isposinf", "Where elements are plus infinity.", _BOOLEAN,
    rule=_no_complex, variants="function method out exact",
)  # fmt: skip
unary(
    "isneginf", "Where elements are minus infinity.", _BOOLEAN,
    rule=_no_complex, variants="function method out exact",
)  # fmt: skip
unary(
    "isreal", "Where elements have no imaginary part.", _BOOLEAN,
    rule=always_bool, variants="function method",
)  # fmt: skip


@composite("is_complex(Tensor self) -> bool")
def is_complex(self: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(self._spec.dtype.is_complex)


@composite("is_floating_point(Tensor self) -> bool")
def is_floating_point(self: Any) -> bool:
    """Whether the dtype is a real floating point one."""
    return bool(self._spec.dtype.is_floating_point)


@composite("is_signed(Tensor self) -> bool")
def is_signed(self: Any) -> bool:
    """Whether the dtype has negative numbers."""
    return bool(self._spec.dtype.is_signed)


@composite("is_nonzero(Tensor self) -> bool")
def is_nonzero(self: Any) -> bool:
    """Whether the only element is not zero."""
    if self._spec.numel != 1:
        count = "no values" if self._spec.numel == 0 else "more than one value"
        raise RuntimeError(f"is_nonzero: Boolean value of Tensor with {count} is ambiguous")
    return bool(self.item() != 0)


@composite("is_conj(Tensor self) -> bool")
def is_conj(self: Any) -> bool:
    """Whether a conjugate is pending; here none ever is."""
    return False


@composite("is_neg(Tensor self) -> bool")
def is_neg(self: Any) -> bool:
    """Whether a negation is pending; here none ever is."""
    return False


@composite("resolve_conj(Tensor(a) self) -> Tensor(a)")
def resolve_conj(self: Any) -> Any:
    """`self`: conjugates are never pending."""
    return self


@composite("resolve_neg(Tensor(a) self) -> Tensor(a)")
def resolve_neg(self: Any) -> Any:
    """`self`: negations are never pending."""
    return self
