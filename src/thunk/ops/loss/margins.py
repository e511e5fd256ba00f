"""Losses that ask for a margin between predictions, pairs or triples."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite
from thunk.ops.loss.reduction import reduced
from thunk.ops.registry import t

_FACTS: dict[str, Any] = {"variants": "function", "autocast": "float32"}


@composite(
    "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1)"
    " -> Tensor",
    **_FACTS,
)
def hinge_embedding_loss(
    self: Any, target: Any, margin: float = 1.0, reduction: int = 1
) -> Any:
    """Distances where the target is 1; where it is -1, what they lack to the margin."""
    lacking = t.clamp_min(margin - self, 0)
    zeros = t.zeros_like(lacking)
    far = t.where(t.ne(target, 1), lacking, zeros)
    near = t.where(t.ne(target, -1), self, t.zeros_like(self))
    return reduced(far + near, reduction)


@composite(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
    "int reduction=1) -> Tensor",
    **_FACTS,
)
def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 1
) -> Any:
    """What the first input lacks to lie the margin above (target 1) or below (-1) the second."""
    return reduced(t.clamp_min(-target * (input1 - input2) + margin, 0), reduction)


@composite(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, "
    "float p=2.0, float eps=1e-06, bool swap=False, int reduction=1) -> Tensor",
    **_FACTS,
)
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: int = 1,
) -> Any:  # fmt: skip
    """What the negative lacks to lie the margin farther from the anchor than the positive."""
    counts = [each._spec.ndim for each in (anchor, positive, negative)]
    if len(set(counts)) != 1:
        raise Mismatch(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {counts[0]}D, positive {counts[1]}D, and negative "
            f"{counts[2]}D inputs"
        )
    near = t.pairwise_distance(anchor, positive, p, eps)
    far = t.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = t.minimum(far, t.pairwise_distance(positive, negative, p, eps))
    return reduced(t.clamp_min(margin + near - far, 0), reduction)


@composite(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
    "int reduction=1) -> Tensor",
    **_FACTS,
)
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 1
) -> Any:
    """One minus the cosine of pairs of target 1; of -1, what the cosine exceeds the margin by."""
    dim = target._spec.ndim
    counts = (input1._spec.ndim, input2._spec.ndim)
    if dim > 1:
        raise Mismatch(f"0D or 1D target tensor expected, multi-target not supported, got {dim}D")
    if counts != (dim + 1, dim + 1):
        raise Mismatch(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1._spec.shape)} and {list(input2._spec.shape)}"
        )
    # The constant keeps the root away from zero, and its gradient finite.
    first = t.sum(input1 * input1, dim) + 1e-12
    second = t.sum(input2 * input2, dim) + 1e-12
    cosine = t.sum(input1 * input2, dim) / t.sqrt(first * second)
    zeros = t.zeros_like(cosine)
    alike = t.where(t.eq(target, 1), 1 - cosine, zeros)
    unlike = t.where(t.eq(target, -1), t.clamp_min(cosine - margin, 0), zeros)
    return reduced(alike + unlike, reduction)
