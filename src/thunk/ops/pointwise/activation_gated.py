"""Activations with more than one operand or with noise: prelu, glu, rrelu."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.ops.rules.pointwise import pointwise_spec, promoted, refusing
from thunk.types.spec import TensorSpec

_inexact = refusing(promoted, "bool integral complex")


@composite("prelu(Tensor self, Tensor weight) -> Tensor")
def prelu(self: Any, weight: Any) -> Any:
    """`self` above zero, `weight * self` below, with one weight or one for each channel."""
    spec, own = self._spec, weight._spec
    if spec.dtype is not own.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported: expected a weight of dtype {spec.dtype}, got "
            f"{own.dtype}; cast it"
        )
    if own.numel != 1:
        if spec.ndim == 0:
            raise RuntimeError("prelu: Not allow zero-dim input tensor, got one; use one weight")
        channels = spec.shape[1] if spec.ndim > 1 else 1
        if channels != own.numel:
            raise RuntimeError(
                "prelu: Mismatch of parameter numbers and input channel size: expected "
                f"{channels} weights, got {own.numel}"
            )
    if own.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {own.ndim}"
        )
    if own.ndim == 1 and spec.ndim != 1:
        place = [1] * spec.ndim
        if spec.ndim > 1:
            place[1] = own.numel
        weight = t.reshape(weight, place)
    return t._prelu_kernel(self, weight)


declare(
    "_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    doc="prelu with a weight that broadcasts.",
    spec=lambda self, weight: pointwise_spec((self, weight), _inexact),
    vjp={
        ("self", "weight"): lambda grad, self, weight: t._prelu_kernel_backward(
            grad, self, weight
        )
    },
    variants="",
)


def _prelu_backward(
    grad_output: TensorSpec, self: TensorSpec, weight: TensorSpec
) -> tuple[TensorSpec, TensorSpec]:
    found = pointwise_spec((self, weight, grad_output))
    return found, found


def _prelu_again(grads: Any, grad_output: Any, self: Any, weight: Any) -> Any:
    """Second gradients: both results are straight in every argument."""
    below = self < 0
    to_self, to_weight = grads
    passed, to_input, to_slope = 0, None, None
    if to_self is not None:
        passed = passed + t.where(below, weight * to_self, to_self)
        to_slope = to_self * t.where(below, grad_output, t.zeros_like(grad_output))
    if to_weight is not None:
        passed = passed + t.where(below, self * to_weight, t.zeros_like(to_weight))
        to_input = to_weight * t.where(below, grad_output, t.zeros_like(grad_output))
    return passed, to_input, to_slope


declare(
    "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
    doc="The gradients of prelu in its input and, before summing, in its weight.",
    spec=_prelu_backward,
    vjp={("grad_output", "self", "weight"): _prelu_again},
    variants="",
)


def _half(self: TensorSpec, dim: int) -> tuple[int, tuple[int, ...]]:
    if self.ndim == 0:
        raise Mismatch("glu does not support 0-dimensional tensors")
    place = wrap_dim(dim, self.ndim)
    size = self.shape[place]
    if size % 2:
        raise expected(
            f"an even size along dimension {place} (Halving dimension must be even)", size
        )
    return place, (*self.shape[:place], size // 2, *self.shape[place + 1 :])


def _glu(self: TensorSpec, dim: int) -> TensorSpec:
    _inexact([self])
    return self.with_shape(_half(self, dim)[1])


declare(
    "glu(Tensor self, int dim=-1) -> Tensor",
    doc="The first half along `dim` times the sigmoid of the second.",
    spec=_glu,
    vjp={"self": lambda grad, self, dim: t.glu_backward(grad, self, dim)},
    variants="function out",
    module="nn",
)


@composite("glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", variants="")
def glu_backward(grad_output: Any, self: Any, dim: int) -> Any:
    """The gradient of glu."""
    size = self._spec.shape[dim] // 2
    value, gate = self.narrow(dim, 0, size), self.narrow(dim, size, size)
    level = t.sigmoid(gate)
    return t.cat([grad_output * level, grad_output * value * level * (1 - level)], dim)


@composite(
    "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, "
    "bool training=False, Generator? generator=None) -> Tensor",
    variants="function inplace",
)
def rrelu(
    self: Any, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False,
    generator: Any = None,
) -> Any:  # fmt: skip
    """leaky_relu with a slope drawn for each element in training, their mean otherwise."""
    if lower > upper:
        raise RuntimeError(
            f"rrelu: Lower bound should be less than or equal to the upper bound, got {lower} and "
            f"{upper}"
        )
    if not training:
        return t.leaky_relu(self, (lower + upper) / 2)
    slopes = t.empty_like(self).uniform_(lower, upper, generator=generator)
    return t.where(self <= 0, self * slopes, self)
