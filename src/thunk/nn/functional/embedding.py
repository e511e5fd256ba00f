"""Look-up in tables under the names and signatures of `torch.nn.functional`."""

from __future__ import annotations

import warnings
from typing import Any

from thunk.ops import families
from thunk.ops.registry import t
from thunk.types.dtype import int64

__all__ = ["embedding", "embedding_bag"]

DECLARED = families.FAMILIES

_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of a table at indices; `max_norm` scales the table's rows in place first."""
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows and padding_idx != 0:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx = padding_idx % rows if padding_idx < 0 else padding_idx
    if max_norm is not None:
        t.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    return t.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _checked_mode(mode: str, scale_grad_by_freq: bool, sparse: bool) -> int:
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    return _MODES[mode]


def _flattened(input: Any, offsets: Any, per_sample_weights: Any) -> tuple[Any, Any, Any]:
    """Indices in a row, where each bag starts, and the indices' weights in a row."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        count, width = input.size()
        starts = t.arange(0, count * width, max(width, 1), dtype=input.dtype, device=input.device)
        weights = None if per_sample_weights is None else per_sample_weights.reshape((-1,))
        return input.reshape((count * width,)), starts, weights
    if input.dim() != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, offsets, per_sample_weights


def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean",
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Sums, means or maxima of bags of table rows."""
    if weight.dtype is int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    last = include_last_offset and input.dim() != 2
    flat, starts, weights = _flattened(input, offsets, per_sample_weights)
    number = _checked_mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        t.embedding_renorm_(weight.detach(), flat, max_norm, norm_type)
    if weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}')."
        )
    return t.embedding_bag(
        weight, flat, starts, scale_grad_by_freq, number, sparse, weights, last, padding_idx
    )[0]  # fmt: skip
