"""Rows of a table looked up by index, and their gradient.

Enters: a table of (rows, features), indices of any shape. Leaves: (indices..., features).
Invariant: the row at `padding_idx` is read and never learns. Gradients are dense: `sparse=True`
is accepted and changes their layout in PyTorch only.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.spatial import plain_spec
from thunk.types.dtype import int32, int64
from thunk.types.spec import TensorSpec


def check_indices(indices: TensorSpec) -> None:
    """Indices must be int32 or int64."""
    if indices.dtype not in (int32, int64):
        raise expected(
            "tensor for argument 'indices' to have one of the following scalar types: Long, Int",
            repr(indices.dtype), "use .long()",
        )  # fmt: skip


def _spec(
    weight: TensorSpec, indices: TensorSpec, padding_idx: int, scale_grad_by_freq: bool,
    sparse: bool,
) -> TensorSpec:  # fmt: skip
    if weight.ndim != 2:
        raise Mismatch(f"'weight' must be 2-D, got {weight.ndim}-D")
    check_indices(indices)
    return plain_spec(weight, (*indices.shape, weight.shape[1]))


def _gradient(
    grad: Any, indices: Any, weight_spec: TensorSpec, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    rows = weight_spec.shape[0]
    return t.embedding_dense_backward(grad, indices, rows, padding_idx, scale_grad_by_freq)


declare(
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
    "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    doc="The rows of a table at indices.",
    spec=_spec,
    vjp={"weight": _gradient},
    variants="function",
    raises_on_data="indices",
)


def _backward_spec(
    grad_output: TensorSpec, indices: TensorSpec, num_weights: int, padding_idx: int,
    scale_grad_by_freq: bool,
) -> TensorSpec:  # fmt: skip
    check_indices(indices)
    return plain_spec(grad_output, (num_weights, grad_output.shape[-1]))


def _second(grad: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    if scale_grad_by_freq:
        raise RuntimeError(
            "embedding_dense_backward: expected scale_grad_by_freq=False for a second gradient, "
            "got True; PyTorch defines none"
        )
    rows = t.embedding(grad, indices)
    if padding_idx < 0:
        return rows
    return rows * t.unsqueeze(t.ne(indices, padding_idx), -1)


declare(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, "
    "SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
    doc="The gradient of `embedding`: the sum of gradients of every row, the padding's zero.",
    spec=_backward_spec,
    vjp={"grad_output": _second},
    variants="function",
)


@composite(
    "embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, "
    "bool scale_grad_by_freq, bool sparse) -> Tensor",
    variants="",
)
def embedding_backward(
    grad: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool,
    sparse: bool,
) -> Any:  # fmt: skip
    """The gradient of `embedding`."""
    return t.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


def _renorm(
    self: TensorSpec, indices: TensorSpec, max_norm: float, norm_type: float
) -> TensorSpec:
    if self.ndim != 2:
        raise Mismatch(f"expected a table of 2 dimensions, got {self.ndim}")
    check_indices(indices)
    return self.fresh()


declare(
    "embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
    doc="A table whose rows at indices are scaled down to norms of at most `max_norm`.",
    spec=_renorm,
    vjp=NoGradient("PyTorch renormalises tables outside of autograd"),
    variants="function inplace",
    raises_on_data="indices",
)
