"""The larger and the smaller of two, and values held between bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import alias, declare
from thunk.ops.pointwise.forms import EVERY_FORM, binary, no_slope
from thunk.ops.registry import t
from thunk.ops.rules.numbers import check_fits
from thunk.ops.rules.pointwise import first_dtype, pointwise_spec, promoted, refusing
from thunk.types.spec import TensorSpec

_ordered = refusing(promoted, "complex", RuntimeError)
_clamped = refusing(promoted, "complex")


def _masked(grad: Any, kept: Any) -> Any:
    return t.where(kept, grad, t.zeros_like(grad))


def _shared(grad: Any, self: Any, other: Any, lost: Any) -> Any:
    """The winner takes the gradient; a tie is shared."""
    halved = t.where(self == other, grad / 2, grad)
    return t.where(lost, t.zeros_like(halved), halved)


_FORMS = "function method out"

binary(
    "maximum",
    "The larger of two, NaN if one is.",
    {
        "self": lambda grad, self, other: _shared(grad, self, other, self < other),
        "other": lambda grad, self, other: _shared(grad, self, other, self > other),
    },
    rule=_ordered,
    variants=_FORMS,
)
binary(
    "minimum",
    "The smaller of two, NaN if one is.",
    {
        "self": lambda grad, self, other: _shared(grad, self, other, self > other),
        "other": lambda grad, self, other: _shared(grad, self, other, self < other),
    },
    rule=_ordered,
    variants=_FORMS,
)


def _first_wins(larger: bool, self: Any, other: Any) -> Any:
    wins = self >= other if larger else self <= other
    return wins.logical_or(other.isnan())


def _fextreme(name: str, doc: str, larger: bool) -> None:
    binary(
        name,
        doc,
        {
            "self": lambda grad, self, other: _masked(grad, _first_wins(larger, self, other)),
            "other": lambda grad, self, other: _masked(
                grad, _first_wins(larger, self, other).logical_not()
            ),
        },
        rule=_ordered,
        variants=_FORMS,
    )


_fextreme("fmax", "The larger of two; a number wins over NaN.", larger=True)
_fextreme("fmin", "The smaller of two; a number wins over NaN.", larger=False)


def _bounds(*bounds: Any) -> list[Any]:
    given = [bound for bound in bounds if bound is not None]
    if not given:
        raise expected("at least one of 'min' or 'max'", "None for both")
    return given


def _clamp_to_numbers(self: TensorSpec, *bounds: Any) -> TensorSpec:
    given = _bounds(*bounds)
    if any(isinstance(bound, complex) for bound in given):
        raise Mismatch(f"expected bounds that are not complex, got {given}")
    found = _clamped([self, *given])
    for bound in given:
        check_fits(bound, found)
    return pointwise_spec((self,), first_dtype).with_dtype(found)


def _clamp_to_tensors(self: TensorSpec, *bounds: Any) -> TensorSpec:
    return pointwise_spec((self, *_bounds(*bounds)), refusing(promoted, "bool complex"))


def _between(self: Any, min: Any, max: Any) -> Any:
    """Where clamping left `self` as it was."""
    if min is None:
        return self <= max
    return self >= min if max is None else (self >= min).logical_and(self <= max)


def _to_bounds(grad: Any, self: Any, min: Any, max: Any, needed: tuple[bool, bool]) -> Any:
    to_min = to_max = None
    if needed[0] and min is not None:
        low = self < min
        to_min = _masked(grad, low if max is None else low.logical_and(min < max))
    if needed[1] and max is not None:
        high = self > max
        to_max = _masked(grad, high if min is None else high.logical_or(max < min))
    return to_min, to_max


declare(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    doc="`self` held between two numbers; where they cross, `max`.",
    spec=_clamp_to_numbers,
    vjp={"self": lambda grad, self, min, max: _masked(grad, _between(self, min, max))},
    variants=EVERY_FORM,
)
declare(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    doc="`self` held between two tensors; where they cross, `max`.",
    spec=_clamp_to_tensors,
    vjp={
        "self": lambda grad, self, min, max: _masked(grad, _between(self, min, max)),
        ("min", "max"): _to_bounds,
    },
    variants=EVERY_FORM,
)
alias("clip", "clamp")

declare(
    "clamp_min(Tensor self, Scalar min) -> Tensor",
    doc="`self`, at least a number.",
    spec=_clamp_to_numbers,
    vjp={"self": lambda grad, self, min: _masked(grad, self >= min)},
    variants=EVERY_FORM,
)
declare(
    "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    doc="`self`, at least a tensor's elements.",
    spec=lambda self, min: pointwise_spec((self, min), _clamped),
    vjp={
        "self": lambda grad, self, min: _masked(grad, self >= min),
        "min": lambda grad, self, min: _masked(grad, self < min),
    },
    variants=EVERY_FORM,
)
declare(
    "clamp_max(Tensor self, Scalar max) -> Tensor",
    doc="`self`, at most a number.",
    spec=_clamp_to_numbers,
    vjp={"self": lambda grad, self, max: _masked(grad, self <= max)},
    variants=EVERY_FORM,
)
declare(
    "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    doc="`self`, at most a tensor's elements.",
    spec=lambda self, max: pointwise_spec((self, max), _clamped),
    vjp={
        "self": lambda grad, self, max: _masked(grad, self <= max),
        "max": lambda grad, self, max: _masked(grad, self > max),
    },
    variants=EVERY_FORM,
)


def _heaviside(operands: Sequence[Any]) -> Any:
    if operands[0].dtype is not operands[1].dtype:
        raise Mismatch("heaviside is not yet implemented for tensors with different dtypes.")
    return _ordered(operands)


binary(
    "heaviside",
    "0 below zero, 1 above, `values` at zero.",
    MissingGradient("PyTorch defines none; write it with where()"),
    rule=_heaviside,
    second="values",
)
declare(
    "nextafter(Tensor self, Tensor other) -> Tensor",
    doc="The next number that the dtype has after `self`, towards `other`.",
    spec=lambda self, other: pointwise_spec(
        (self, other), refusing(promoted, "bool integral complex")
    ),
    vjp={
        "self": lambda grad, self, other: _masked(grad, self != other),
        "other": no_slope,
    },
    variants=EVERY_FORM,
)
declare(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    doc="Numbers in place of NaN (0) and infinities (the largest of the dtype).",
    spec=lambda self, nan, posinf, neginf: pointwise_spec((self,)),
    vjp={"self": lambda grad, self: grad * self.isfinite()},
    variants=EVERY_FORM,
)
