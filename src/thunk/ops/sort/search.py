"""Where values belong in a sorted sequence."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import composite, declare
from thunk.ops.reduce.shapes import refuse_dtypes
from thunk.ops.registry import t
from thunk.types.dtype import int32, int64
from thunk.types.promotion import result_type
from thunk.types.spec import TensorSpec, make_spec

_SEARCH = (
    "*, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor"
)


def _check_side(right: bool, side: str | None) -> None:
    if side not in (None, "left", "right"):
        raise expected("side to be 'left' or 'right'", repr(side))
    if right and side == "left":
        raise expected("side and right to agree", "side='left' and right=True")


def _search(
    sorted_sequence: TensorSpec, self: TensorSpec, out_int32: bool, right: bool,
    side: str | None, sorter: TensorSpec | None,
) -> TensorSpec:  # fmt: skip
    _check_side(right, side)
    own = sorted_sequence.shape
    if sorter is not None:
        if sorter.shape != own:
            raise expected(f"sorter of shape {list(own)}", f"{list(sorter.shape)}")
        if sorter.dtype is not int64:
            raise expected("sorter of dtype int64", repr(sorter.dtype), "convert it")
    if not own:
        raise expected("a sequence of at least one dimension", "a 0-dim tensor")
    if not self.shape and len(own) != 1:
        raise expected("a sequence of one dimension for one value", f"{len(own)} dimensions")
    if len(own) != 1 and own[:-1] != self.shape[:-1]:
        raise expected(
            "a sequence of one dimension, or the values' sizes in all dimensions but the last",
            f"{list(own)} and {list(self.shape)}",
        )
    for each in (sorted_sequence, self):
        refuse_dtypes(each, "bool", "complex", "wide unsigned")
    return make_spec(self.shape, int32 if out_int32 else int64, self.device)


declare(
    f"searchsorted.Tensor(Tensor sorted_sequence, Tensor self, {_SEARCH}",
    doc="The places at which to insert values into sorted sequences to keep them sorted.",
    spec=_search,
    vjp=NoGradient("the result is an index"),
    variants="function out exact",
    raises_on_data="sorter",
)


@composite(
    f"searchsorted.Scalar(Tensor sorted_sequence, Scalar self, {_SEARCH}",
    variants="function out exact",
)
def searchsorted_number(
    sorted_sequence: Any, self: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None,
) -> Any:  # fmt: skip
    """The place at which to insert a number into a sorted sequence."""
    value = _of_number(self, sorted_sequence)
    return t.searchsorted(
        sorted_sequence, value, out_int32=out_int32, right=right, side=side, sorter=sorter
    )


def _of_number(number: Any, beside: Any) -> Any:
    """A 0-dim tensor that does not change the other operand's dtype more than a number would."""
    spec = beside._spec
    return t.full((), number, dtype=result_type((spec, number)), device=spec.device)


def _check_boundaries(boundaries: Any) -> None:
    if boundaries._spec.ndim != 1:
        raise Mismatch(
            f"expected boundaries of one dimension, got {boundaries._spec.ndim}; flatten them"
        ).named("bucketize")


@composite(
    "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False)"
    " -> Tensor",
    variants="function out exact",
)
def bucketize(self: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The index of the bucket between boundaries that each value falls into."""
    _check_boundaries(boundaries)
    return t.searchsorted(boundaries, self, out_int32=out_int32, right=right)


@composite(
    "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False)"
    " -> Tensor",
    variants="function",
)
def bucketize_number(
    self: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False
) -> Any:
    """The index of the bucket between boundaries that a number falls into."""
    _check_boundaries(boundaries)
    return t.searchsorted(boundaries, self, out_int32=out_int32, right=right)
