"""Softmax and its logarithm along one dimension, with their gradients as operators.

Enters: scores. Leaves: shares that sum to one, or their logarithms. Invariant: the largest score is
subtracted first, so no finite scores overflow.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, plain_spec
from thunk.types.dtype import dtype
from thunk.types.spec import TensorSpec

_FORMS = "function method out exact"


def _spec(self: TensorSpec, dim: int, half_to_float: bool) -> TensorSpec:
    wrap_dim(dim, self.ndim)
    if half_to_float:
        raise Mismatch("softmax with half to float conversion is not supported on CPU")
    check_dtype(self, FLOATING_ONLY)
    return plain_spec(self, self.shape)


def _backward_spec(
    grad_output: TensorSpec, output: TensorSpec, dim: int, input_dtype: dtype
) -> TensorSpec:
    wrap_dim(dim, grad_output.ndim)
    if grad_output.shape != output.shape:
        raise Mismatch(
            f"expected grad_output of the shape of output {list(output.shape)}, "
            f"got {list(grad_output.shape)}"
        )
    check_dtype(grad_output, FLOATING_ONLY)
    return plain_spec(grad_output, output.shape, input_dtype)


declare(
    "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    doc="`exp(self)` divided by its sum along a dimension.",
    spec=_spec,
    vjp={
        "self": lambda grad, result, dim, self_spec: t._softmax_backward_data(
            grad, result, dim, self_spec.dtype
        )
    },
    variants="function out",
)
declare(
    "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    doc="The logarithm of the softmax along a dimension.",
    spec=_spec,
    vjp={
        "self": lambda grad, result, dim, self_spec: t._log_softmax_backward_data(
            grad, result, dim, self_spec.dtype
        )
    },
    variants="function out",
)


def _softmax_second(grad: Any, grad_output: Any, output: Any, dim: int, needed: Any) -> Any:
    """The first gradient is `output * (grad_output - sum(grad_output * output))`."""
    to_grad, to_output = None, None
    if needed[0]:
        to_grad = t._softmax_backward_data(grad, output, dim, grad._spec.dtype)
    if needed[1]:
        centre = t.sum(grad_output * output, dim, True)
        slope = t.sum(grad * output, dim, True)
        to_output = grad * (grad_output - centre) - grad_output * slope
    return to_grad, to_output


def _log_softmax_second(grad: Any, grad_output: Any, output: Any, dim: int, needed: Any) -> Any:
    """The first gradient is `grad_output - exp(output) * sum(grad_output)`."""
    share = t.exp(output)
    weighed = t.sum(grad * share, dim, True)
    to_grad = grad - weighed if needed[0] else None
    to_output = -(grad * share * t.sum(grad_output, dim, True)) if needed[1] else None
    return to_grad, to_output


declare(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype)"
    " -> Tensor",
    doc="The gradient of `_softmax`.",
    spec=_backward_spec,
    vjp={("grad_output", "output"): _softmax_second},
    variants="function out",
)
declare(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
    "ScalarType input_dtype) -> Tensor",
    doc="The gradient of `_log_softmax`.",
    spec=_backward_spec,
    vjp={("grad_output", "output"): _log_softmax_second},
    variants="function out",
)


def _converted(self: Any, element: dtype | None) -> Any:
    return self if element is None or element is self._spec.dtype else self.to(element)


@composite(
    "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    variants=_FORMS,
)
def softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """`exp(self)` divided by its sum along a dimension."""
    return t._softmax(_converted(self, dtype), dim, False)


@composite(
    "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    variants=_FORMS,
)
def log_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of the softmax along a dimension."""
    return t._log_softmax(_converted(self, dtype), dim, False)


@composite(
    "special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    variants="function",
    module="special",
)
def special_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """`exp(self)` divided by its sum along a dimension."""
    return t.softmax(self, dim, dtype)


@composite(
    "special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    variants="function",
    module="special",
)
def special_log_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of the softmax along a dimension."""
    return t.log_softmax(self, dim, dtype)


@composite(
    "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", variants="function"
)
def _safe_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """The softmax, zero where all scores along the dimension are minus infinity."""
    masked = t.all(t.eq(self.detach(), float("-inf")), dim, keepdim=True)
    # Scores without a softmax are replaced before it too: its gradient would be NaN.
    share = t.softmax(t.masked_fill(self, masked, 0.0), dim, dtype)
    return t.masked_fill(share, masked, 0.0)
