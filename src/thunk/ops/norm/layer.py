"""Layer normalisation: over the last dimensions of every row.

Enters: rows, weight and bias. Leaves: rows of mean zero and variance one, scaled and shifted.
Invariant: `mean` and `rstd` leave with ones where dimensions were averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.norm.second import Normalised, living, second_gradients
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, plain_spec
from thunk.types.dtype import dtype, float32
from thunk.types.spec import TensorSpec


def check_rows(input: TensorSpec, shape: Sequence[int], *affine: TensorSpec | None) -> None:
    """The input must end with `shape`, and weight and bias must have it."""
    if not shape:
        raise Mismatch(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            f"element, but got normalized_shape = {list(shape)}"
        )
    for name, spec in zip(("weight", "bias"), affine):
        if spec is not None and spec.shape != tuple(shape):
            raise Mismatch(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(spec.shape)} and normalized_shape = {list(shape)}"
            )
    if input.shape[-len(shape) :] != tuple(shape):
        raise Mismatch(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {str(list(shape))[1:-1]}], but got input of size{list(input.shape)}"
        )


def statistics_dtype(input: TensorSpec, *affine: TensorSpec | None) -> dtype:
    """The dtype of mean and scale; parameters of single precision beside half ones raise it."""
    widened = any(spec is not None and spec.dtype is not input.dtype for spec in affine)
    return float32 if widened and input.dtype.itemsize == 2 else input.dtype


def check_affine_dtypes(input: TensorSpec, *affine: TensorSpec | None) -> None:
    """Weight and bias share the input's dtype, or are single beside half precision."""
    given = [spec for spec in affine if spec is not None]
    same = all(spec.dtype is input.dtype for spec in given)
    mixed = input.dtype.itemsize == 2 and all(spec.dtype is float32 for spec in given)
    if not same and not mixed:
        raise Mismatch(
            f"expected weight and bias of the input's dtype {input.dtype!r} (or single precision "
            f"beside half), got {[spec.dtype for spec in given]}; convert them with .to(...)"
        )


def _spec(
    input: TensorSpec, normalized_shape: Sequence[int], weight: TensorSpec | None,
    bias: TensorSpec | None, eps: float,
) -> tuple[TensorSpec, ...]:  # fmt: skip
    check_rows(input, normalized_shape, weight, bias)
    check_dtype(input, FLOATING_ONLY)
    check_affine_dtypes(input, weight, bias)
    rows = input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
    kept = plain_spec(input, rows, statistics_dtype(input, weight, bias))
    return plain_spec(input, input.shape), kept, kept


def last_dims(shape: Sequence[int]) -> tuple[int, ...]:
    """The dimensions that are averaged over."""
    return tuple(range(-len(shape), 0))


def _gradient(
    grad: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, result1: Any,
    result2: Any, needed: Any,
) -> Any:  # fmt: skip
    return t.native_layer_norm_backward(
        grad, input, normalized_shape, result1, result2, weight, bias, needed
    )


declare(
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    doc="Layer normalisation; also returns the means and the inverse standard deviations.",
    spec=_spec,
    vjp={("input", "weight", "bias"): _gradient},
    variants="function",
    constants="1 2",
)


def _backward_spec(
    grad_out: TensorSpec, input: TensorSpec, normalized_shape: Sequence[int], mean: TensorSpec,
    rstd: TensorSpec, weight: TensorSpec | None, bias: TensorSpec | None,
    output_mask: Sequence[bool],
) -> tuple[TensorSpec | None, ...]:  # fmt: skip
    found = (
        plain_spec(input, input.shape),
        plain_spec(weight or input, tuple(normalized_shape)),
        plain_spec(bias or weight or input, tuple(normalized_shape)),
    )
    return tuple([spec if wanted else None for spec, wanted in zip(found, output_mask)])


def _second(
    grads: Any, grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any,
    weight: Any,
) -> Any:  # fmt: skip
    dims = last_dims(normalized_shape)
    mean, rstd = living(input, mean, rstd, dims)
    norm = Normalised(input, mean, rstd, weight, dims)
    for_grad, for_input, for_weight = second_gradients(norm, grad_out, *grads)
    return for_grad, for_input, for_weight, None, None, None


declare(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, "
    "Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask)"
    " -> (Tensor, Tensor, Tensor)",
    doc="The gradients of `native_layer_norm` for input, weight and bias; None if not asked for.",
    spec=_backward_spec,
    vjp={("grad_out", "input", "weight", "bias", "mean", "rstd"): _second},
    variants="",
)


@composite(
    "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    variants="function",
)
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:  # fmt: skip
    """Rows normalised to mean zero and variance one, scaled and shifted."""
    return t.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]
