"""Distances between all vectors of two sets, or of one.

Enters: (..., vectors, features). Leaves: (..., vectors, vectors), or the pairs of one set in a row.
Invariant: the gradient of a distance of zero is zero, whatever the norm.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, plain_spec
from thunk.types.spec import TensorSpec

_NO_SECOND = MissingGradient("PyTorch defines no second gradient of distances between sets")


def _cdist(x1: TensorSpec, x2: TensorSpec, p: float, compute_mode: int | None) -> TensorSpec:
    for name, spec in (("X1", x1), ("X2", x2)):
        if spec.ndim < 2:
            raise Mismatch(
                f"only supports at least 2D tensors, {name} got: {spec.ndim}D", RuntimeError
            )
        if not spec.dtype.is_floating_point:
            raise Mismatch(f"only supports floating-point dtypes, {name} got: {spec.dtype!r}")
    if x1.shape[-1] != x2.shape[-1]:
        raise Mismatch(
            "X1 and X2 must have the same number of columns. "
            f"X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise Mismatch(f"only supports non-negative p values, got {p}")
    if compute_mode is not None and compute_mode not in (0, 1, 2):
        raise Mismatch(f"possible modes: 0, 1, 2, but was: {compute_mode}")
    if x1.dtype is not x2.dtype:
        raise expected("X1 and X2 of one dtype", f"{x1.dtype!r} and {x2.dtype!r}")
    lead = broadcast_shapes([x1.shape[:-2], x2.shape[:-2]])
    return plain_spec(x1, (*lead, x1.shape[-2], x2.shape[-2]))


def _cdist_gradient(grad: Any, x1: Any, x2: Any, p: float, result: Any, needed: Any) -> Any:
    to_first, to_second = None, None
    if needed[0]:
        to_first = t._cdist_backward(grad, x1, x2, p, result)
    if needed[1]:
        flipped = [t.transpose(each, -2, -1).contiguous() for each in (grad, result)]
        to_second = t._cdist_backward(flipped[0], x2, x1, p, flipped[1])
    return to_first, to_second


def _cdist_backward(
    grad: TensorSpec, x1: TensorSpec, x2: TensorSpec, p: float, cdist: TensorSpec
) -> TensorSpec:
    return plain_spec(x1, (*grad.shape[:-2], *x1.shape[-2:]))


declare(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
    doc="The p-norms of the differences of all vectors of two sets.",
    spec=_cdist,
    vjp={("x1", "x2"): _cdist_gradient},
    variants="",
    static="p",
)
declare(
    "_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
    doc="The gradient of `_cdist_forward` for the first set.",
    spec=_cdist_backward,
    vjp=_NO_SECOND,
    variants="",
    static="p",
)


@composite(
    "cdist(Tensor x1, Tensor x2, float p=2.0, int? compute_mode=None) -> Tensor",
    variants="function",
    autocast="float32",
    static="p",
)
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: int | None = None) -> Any:
    """The p-norms of the differences of all vectors of two sets."""
    return t._cdist_forward(x1, x2, p, compute_mode)


_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


@composite(
    "cdist.named_mode(Tensor x1, Tensor x2, float p=2.0, "
    "str compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor",
    variants="function",
    static="p",
)
def cdist_named_mode(x1: Any, x2: Any, p: float, compute_mode: str) -> Any:
    """`cdist` with the mode's name, as Python callers give it; the result does not depend on it."""
    if compute_mode not in _MODES:
        raise Mismatch(f"{compute_mode} is not a valid value for compute_mode", ValueError)
    return t.cdist(x1, x2, p, _MODES[compute_mode])


def _pdist(self: TensorSpec, p: float) -> TensorSpec:
    if self.ndim != 2:
        raise Mismatch(f"pdist only supports 2D tensors, got: {self.ndim}D")
    check_dtype(self, FLOATING_ONLY)
    if p < 0:
        raise Mismatch(f"pdist only supports non-negative p values, got {p}")
    count = self.shape[0]
    return plain_spec(self, (max(count * (count - 1) // 2, 0),))


declare(
    "_pdist_forward(Tensor self, float p=2.0) -> Tensor",
    doc="The p-norms of the differences of all pairs of rows.",
    spec=_pdist,
    vjp={"self": lambda grad, self, p, result: t._pdist_backward(grad, self, p, result)},
    variants="",
    static="p",
)
declare(
    "_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor",
    doc="The gradient of `_pdist_forward`.",
    spec=lambda grad, self, p, pdist: plain_spec(self, self.shape),
    vjp=_NO_SECOND,
    variants="",
    static="p",
)


@composite("pdist(Tensor self, float p=2.0) -> Tensor", variants="function", static="p")
def pdist(self: Any, p: float = 2.0) -> Any:
    """The p-norms of the differences of all pairs of rows."""
    return t._pdist_forward(self, p)
