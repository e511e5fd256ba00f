"""Enters: the windows of a target and its operands. Leaves: PyTorch's refusal where they overlap.

Invariant: a window that is exactly the target's is no overlap, and one whose elements cannot be
told apart cheaply is given the benefit of the doubt, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thunk.dispatch.call import tensors_in
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase

SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to "
    "a single memory location. Please clone() the tensor before performing the operation."
)
SELF_SHARED = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)


def refuse_self_overlap(name: str, spec: TensorSpec) -> None:
    """A target that shows one element twice cannot be written."""
    if spec.numel and any(
        stride == 0 and size > 1 for stride, size in zip(spec.strides, spec.shape, strict=True)
    ):
        raise RuntimeError(f"{name}: {SELF_SHARED}")


def refuse_partial_overlap(name: str, target: TensorBase, args: Iterable[Any]) -> None:
    """An operand that shows part of the target would change while it is read."""
    for source in tensors_in(args):
        if source._storage is target._storage and _partly(target._spec, source._spec):
            raise RuntimeError(f"{name}: {SHARED}")


def _partly(target: TensorSpec, source: TensorSpec) -> bool:
    if not target.numel or not source.numel:
        return False
    dense = target.is_non_overlapping_and_dense() and source.is_non_overlapping_and_dense()
    if not dense:
        return False
    start, end = target.offset, target.extent()
    if (start, end) == (source.offset, source.extent()):
        return _steps(target) != _steps(source)
    return start < source.extent() and source.offset < end


def _steps(spec: TensorSpec) -> list[tuple[int, int]]:
    """Sizes and strides; a dimension of size one takes no step."""
    return [each for each in zip(spec.shape, spec.strides, strict=True) if each[0] != 1]
