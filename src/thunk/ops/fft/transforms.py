"""The three transforms that everything else is made of: real to complex, back, and complex.

Enters: a tensor, dimensions that are in range and distinct, a normalization. Leaves: its spectrum.
Invariant: of a real signal's spectrum half is stored ("one-sided") along the last dimension given.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec, make_spec


class Scale(IntEnum):
    """What a transform divides by."""

    NONE = 0
    ROOT_N = 1
    N = 2


def _resized(self: TensorSpec, dim: int, size: int) -> tuple[int, ...]:
    return tuple(size if d == dim else old for d, old in enumerate(self.shape))


def _r2c(self: TensorSpec, dim: Any, normalization: int, onesided: bool) -> TensorSpec:
    if not self.dtype.is_floating_point:
        raise Mismatch(f"Only supports floating-point dtypes, but found: {self.dtype!r}")
    last = dim[-1]
    shape = _resized(self, last, self.shape[last] // 2 + 1) if onesided else self.shape
    return make_spec(shape, self.dtype.to_complex(), self.device)


def _c2r(self: TensorSpec, dim: Any, normalization: int, last_dim_size: int) -> TensorSpec:
    if not self.dtype.is_complex:
        raise Mismatch(f"expected a complex input, got {self.dtype!r}")
    shape = _resized(self, dim[-1], last_dim_size)
    return make_spec(shape, self.dtype.to_real(), self.device)


def _c2c(self: TensorSpec, dim: Any, normalization: int, forward: bool) -> TensorSpec:
    if not self.dtype.is_complex:
        raise Mismatch(f"expected a complex input, got {self.dtype!r}")
    return make_spec(self.shape, self.dtype, self.device)


def _r2c_vjp(grad: Any, self_spec: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    if onesided:
        # What was not stored did not matter: zeros.
        last = dim[-1]
        missing = self_spec.shape[last] - grad._spec.shape[last]
        behind = self_spec.ndim - 1 - last
        grad = t.constant_pad_nd(grad, (0, 0) * behind + (0, missing))
    return t.real(t._fft_c2c(grad, dim, normalization, False))


def _c2r_vjp(grad: Any, self_spec: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
    half = t._fft_r2c(grad, dim, normalization, True)
    last = dim[-1]
    # Every element but the first (and the middle) stands for its mirror image too.
    doubled = last_dim_size - self_spec.shape[last]
    if doubled <= 0:
        return half
    stored = self_spec.shape[last]
    places = {"dtype": half._spec.dtype.to_real(), "device": half._spec.device}
    weights = [t.ones((1,), **places), t.full((doubled,), 2.0, **places)]
    weights.append(t.ones((stored - 1 - doubled,), **places))
    shape = [1] * (self_spec.ndim - 1 - last)
    return half * t.reshape(t.cat(weights), (stored, *shape))


declare(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    doc="The spectrum of a real signal.",
    spec=_r2c,
    vjp={"self": _r2c_vjp},
    variants="function",
)
declare(
    "_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
    doc="The real signal of a one-sided spectrum.",
    spec=_c2r,
    vjp={"self": _c2r_vjp},
    variants="function",
)
declare(
    "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
    doc="The spectrum of a complex signal, or the signal of a spectrum.",
    spec=_c2c,
    vjp={
        "self": lambda grad, dim, normalization, forward: t._fft_c2c(
            grad, dim, normalization, not forward
        )
    },
    variants="function",
)
