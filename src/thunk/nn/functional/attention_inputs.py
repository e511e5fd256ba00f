"""What attention with several heads does before it attends: checks, masks and projections.

Enters: arguments as a user gave them. Leaves: masks as numbers to add, projected sequences.
Invariant: what does not fit raises PyTorch's AssertionError here.
"""

from __future__ import annotations

import warnings
from typing import Any

from thunk.ops import families
from thunk.ops.registry import t
from thunk.types.dtype import bool_
from thunk.types.tensor_base import TensorBase

DECLARED = families.FAMILIES


def check_dimensions(
    query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int
) -> bool:
    """Whether the inputs have a batch dimension; they must agree."""
    count = query.dim()
    if count not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{count}-D query tensor"
        )
    kind = "batched" if count == 3 else "unbatched"
    if key.dim() != count or value.dim() != count:
        raise AssertionError(
            f"For {kind} ({count}-D) `query`, expected `key` and `value` to be {count}-D but found "
            f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != count - 1:
        raise AssertionError(
            f"For {kind} ({count}-D) `query`, expected `key_padding_mask` to be `None` or "
            f"{count - 1}-D but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {kind} ({count}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D "
                f"but found {attn_mask.dim()}-D tensor instead"
            )
        wanted = (num_heads, query.shape[0], key.shape[0])
        if count == 2 and attn_mask.dim() == 3 and tuple(attn_mask.shape) != wanted:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}"
            )
    return bool(count == 3)


def _canonical_mask(
    mask: Any, mask_name: str, other_type: Any, other_name: str, target_type: Any,
    check_other: bool = True,
) -> Any:  # fmt: skip
    """A mask of bools as minus infinity where it is set; one of numbers as it is."""
    if mask is None:
        return None
    if mask.dtype is not bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type "
            "for both instead.",
            stacklevel=2,
        )
    if mask.dtype is not bool_:
        return mask
    zeros = t.zeros(mask.shape, dtype=target_type, device=mask.device)
    return t.masked_fill(zeros, mask, float("-inf"))


def _none_or_dtype(input: Any) -> Any:
    """The dtype of a mask that is there."""
    if input is not None and not isinstance(input, TensorBase):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input._spec.dtype


def sized_mask(mask: Any, heads: int, length: int, source: int) -> Any:
    """An attention mask of three dimensions, its sizes checked."""
    if mask is None:
        return None
    wanted = (length, source) if mask.dim() == 2 else (heads, length, source)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}."
        )
    return t.unsqueeze(mask, 0) if mask.dim() == 2 else mask


def widened(mask: Any) -> Any:
    """A mask with room for one more key, which may be attended to."""
    if mask is None:
        return None
    zeros = t.zeros((*mask.shape[:-1], 1), dtype=mask.dtype, device=mask.device)
    return t.cat([mask, zeros], -1)


def check_static(given: Any, heads: int, width: int) -> Any:
    """Keys or values that the caller projected."""
    if given.size(0) != heads:
        raise AssertionError(f"expecting static size(0) of {heads}, but got {given.size(0)}")
    if given.size(2) != width:
        raise AssertionError(f"expecting static size(2) of {width}, but got {given.size(2)}")
    return given


def _thirds(value: Any) -> list[Any]:
    return [None] * 3 if value is None else list(t.chunk(value, 3))


def project_packed(query: Any, key: Any, value: Any, weight: Any, bias: Any) -> list[Any]:
    """Queries, keys and values projected by the three parts of one weight."""
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if query is key and key is value:
        return list(t.chunk(t.linear(query, weight, bias), 3, -1))
    parts = zip((query, key, value), _thirds(weight), _thirds(bias), strict=True)
    return [t.linear(each, part, shift) for each, part, shift in parts]


def project_apart(query: Any, key: Any, value: Any, weights: Any, bias: Any) -> list[Any]:
    """Queries, keys and values projected by weights of their own."""
    features = query.size(-1)
    found = []
    names = ("q", "k", "v")
    inputs = (query, key, value)
    for name, each, weight, shift in zip(names, inputs, weights, _thirds(bias), strict=True):
        if weight is None:
            raise AssertionError(
                f"use_separate_proj_weight is True but {name}_proj_weight is None"
            )
        wanted = (features, each.size(-1))
        if tuple(weight.shape) != wanted:
            raise AssertionError(
                f"expecting {name} weights shape of {wanted}, but got {weight.shape}"
            )
        found.append(t.linear(each, weight, shift))
    return found
