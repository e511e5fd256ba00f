"""The softmax of very many classes, rare ones computed only where they are wanted.

Enters: features and classes ordered by falling frequency. Leaves: log likelihoods. Invariant: a
class's probability is that of its cluster times its own within it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from thunk.nn import functional as F
from thunk.nn.modules.container import ModuleList, Sequential
from thunk.nn.modules.linear import Linear
from thunk.nn.modules.module import Module
from thunk.ops.registry import t

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """The log likelihood of each target, and their negated mean."""

    output: Any
    loss: Any


def _check_cutoffs(cutoffs: list[int], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rising = cutoffs == sorted(set(cutoffs))
    whole = all(int(each) == each for each in cutoffs)
    if not rising or not whole or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            "order, where each value is between 1 and n_classes-1"
        )


class AdaptiveLogSoftmaxWithLoss(Module):
    """Frequent classes in a head, the others in clusters of smaller and smaller projections."""

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
        head_bias: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        given = list(cutoffs)
        _check_cutoffs(given, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*given, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(
            in_features, self.head_size, bias=head_bias, device=device, dtype=dtype
        )
        self.tail = ModuleList()
        for number, (start, end) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // (div_value ** (number + 1)))
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, device=device, dtype=dtype),
                    Linear(width, end - start, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for shrink, spread in self.tail:
            shrink.reset_parameters()
            spread.reset_parameters()

    def _check(self, input: Any, target: Any) -> None:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but "
                f"found inputs with size {input.size()}"
            )

    def forward(self, input_: Any, target_: Any) -> _ASMoutput:
        """The log likelihood of each sample's class, and the loss."""
        self._check(input_, target_)
        batched = target_.dim() == 1
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        # The choice that the head makes: a class of its own, or a cluster.
        choice, found = target, t.zeros_like(target, dtype=input.dtype)
        counted = int(t.sum(t.ge(target, 0) & t.lt(target, self.shortlist_size)))
        for number, (start, end) in enumerate(pairwise(self.cutoffs)):
            mask = t.ge(target, start) & t.lt(target, end)
            rows = t.nonzero(mask).squeeze(1)
            if not rows.numel():
                continue
            counted += rows.numel()
            choice = t.masked_fill(choice, mask, self.shortlist_size + number)
            inside = F.log_softmax(self.tail[number](t.index_select(input, 0, rows)), dim=1)
            own = t.index_select(target, 0, rows) - start
            picked = t.gather(inside, 1, own.unsqueeze(1)).squeeze(1)
            found = t.index_copy(found, 0, rows, picked)
        if counted != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output = found + t.gather(head, 1, choice.unsqueeze(1)).squeeze(1)
        loss = -t.mean(output)
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Any, head_output: Any) -> Any:
        """The log likelihood of every class."""
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for number, cluster in enumerate(self.tail):
            place = self.shortlist_size + number
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, place : place + 1])
        return t.cat(parts, 1)

    def log_prob(self, input: Any) -> Any:
        """The log likelihood of every class for every sample."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Any) -> Any:
        """The likeliest class of every sample; clusters are computed for samples that need them."""
        head = self.head(input)
        output = t.argmax(head, 1)
        rows = t.nonzero(t.ge(output, self.shortlist_size)).squeeze(1)
        if not rows.numel():
            return output
        some = (t.index_select(each, 0, rows) for each in (input, head))
        return t.index_copy(output, 0, rows, t.argmax(self._get_full_log_prob(*some), 1))
