"""Sums, means and maxima of bags of table rows.

Enters: a table, the indices of all bags in a row, where each bag starts. Leaves: a vector a bag.
Invariant: indices equal to `padding_idx` (-1: none) are in no bag; empty bags are zero.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import composite, declare
from thunk.ops.embedding.lookup import check_indices
from thunk.ops.registry import t
from thunk.ops.rules.spatial import FLOATING_ONLY, check_dtype, plain_spec
from thunk.types.spec import TensorSpec

SUM, MEAN, MAX = range(3)
_NO_SECOND = MissingGradient("PyTorch defines no second gradient of embedding bags")
_BAG = (
    "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False"
)
_BAG_PLAIN = _BAG.replace("=False", "").replace("=0", "").replace("=None", "")


def _spec(
    weight: TensorSpec, indices: TensorSpec, offsets: TensorSpec, scale_grad_by_freq: bool,
    mode: int, sparse: bool, per_sample_weights: TensorSpec | None, include_last_offset: bool,
    padding_idx: int,
) -> tuple[TensorSpec, ...]:  # fmt: skip
    if weight.ndim != 2 or offsets.ndim != 1:
        raise expected("a table of 2 dimensions and offsets of 1", f"{weight.ndim}, {offsets.ndim}")
    if indices.ndim not in (1, 2):
        raise Mismatch(
            f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.ndim}"
        )
    check_indices(indices)
    check_indices(offsets)
    check_dtype(weight, FLOATING_ONLY)
    _check_weights(weight, indices, mode, per_sample_weights)
    if include_last_offset and not offsets.shape[0]:
        raise Mismatch("include_last_offset: number of offset should be at least 1")
    bags = offsets.shape[0] - int(include_last_offset)
    largest = (bags, weight.shape[1]) if mode == MAX else (bags,)
    return (
        plain_spec(weight, (bags, weight.shape[1])),
        plain_spec(indices, (indices.numel,)),
        plain_spec(indices, (bags,)),
        plain_spec(indices, largest),
    )


def _check_weights(
    weight: TensorSpec, indices: TensorSpec, mode: int, per_sample_weights: TensorSpec | None
) -> None:
    if per_sample_weights is None:
        return
    if mode != SUM:
        raise Mismatch("embedding_bag: per_sample_weights only supported with mode='sum'")
    if per_sample_weights.dtype is not weight.dtype:
        raise expected(f"per_sample_weights of dtype {weight.dtype!r}", per_sample_weights.dtype)
    if per_sample_weights.shape != indices.shape:
        raise Mismatch(
            f"expected per_sample_weights of shape {list(indices.shape)}, got "
            f"{list(per_sample_weights.shape)}"
        )


def _to_weight(
    grad: Any, indices: Any, result1: Any, result2: Any, result3: Any, weight_spec: TensorSpec,
    scale_grad_by_freq: bool, mode: int, per_sample_weights: Any, padding_idx: int,
) -> Any:  # fmt: skip
    return t._embedding_bag_dense_backward(
        grad, indices, result1, result2, result3, weight_spec.shape[0], scale_grad_by_freq, mode,
        per_sample_weights, padding_idx,
    )  # fmt: skip


def _to_weights(
    grad: Any, weight: Any, indices: Any, offsets: Any, result1: Any, mode: int, padding_idx: int
) -> Any:
    return t._embedding_bag_per_sample_weights_backward(
        grad, weight, indices, offsets, result1, mode, padding_idx
    )


declare(
    f"_embedding_bag({_BAG}, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    doc="A vector a bag; also the bag of every index, the bags' sizes, and the indices of maxima.",
    spec=_spec,
    vjp={"weight": _to_weight, "per_sample_weights": _to_weights},
    variants="function",
    raises_on_data="indices offsets",
)
declare(
    "_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, "
    "Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, "
    "int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
    doc="The gradient of `_embedding_bag` for the table.",
    spec=lambda grad, indices, offset2bag, bag_size, maximum_indices, num_weights, *_: plain_spec(
        grad, (num_weights, grad.shape[1])
    ),
    vjp=_NO_SECOND,
    variants="",
)
declare(
    "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, "
    "Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
    doc="The gradient of `_embedding_bag` for the weights of single indices.",
    spec=lambda grad, weight, indices, *_: plain_spec(grad, indices.shape),
    vjp=_NO_SECOND,
    variants="",
)


@composite(f"embedding_bag({_BAG}) -> (Tensor, Tensor, Tensor, Tensor)", variants="function")
def embedding_bag(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
) -> Any:  # fmt: skip
    """A vector a bag of table rows."""
    return t._embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
        include_last_offset,
    )  # fmt: skip


@composite(
    f"embedding_bag.padding_idx({_BAG_PLAIN}, int? padding_idx)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    variants="function",
)
def embedding_bag_padding_idx(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool, mode: int, sparse: bool,
    per_sample_weights: Any, include_last_offset: bool, padding_idx: int | None,
) -> Any:  # fmt: skip
    """A vector a bag of table rows, without those at `padding_idx`."""
    rows = weight._spec.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise Mismatch(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but "
            f"got {padding_idx}"
        )
    place = -1 if padding_idx is None else padding_idx % rows
    return t._embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
        include_last_offset, place,
    )  # fmt: skip
