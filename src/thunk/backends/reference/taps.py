"""Enters: arrays and, for each output index along an axis, which inputs it sums. Leaves: the sums.

Invariant: an input that no tap names is never touched, so NaN and infinities stay where they act.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy


@dataclass(frozen=True, slots=True)
class Taps:
    """Along one axis, output i is the sum over k of `weight[k, i] * input[index[k, i]]`.

    No weight means one; `present` says which taps count, None means all.
    """

    index: Any
    weight: Any = None
    present: Any = None

    def applied(self, values: Any, axis: int) -> Any:
        """The weighted sums of `values` along `axis`."""
        shape = list(values.shape)
        shape[axis] = self.index.shape[1]
        if len(self.index) == 1 and self.weight is None and self.present is None:
            return values.take(self.index[0], axis)
        total = numpy.zeros(shape, values.dtype)
        where: list[Any] = [slice(None)] * values.ndim
        for k in range(len(self.index)):
            if self.present is None or self.present[k].all():
                total += self._term(values, axis, k, slice(None))
            else:
                where[axis] = numpy.flatnonzero(self.present[k])
                total[tuple(where)] += self._term(values, axis, k, where[axis])
        return total

    def _term(self, values: Any, axis: int, k: int, chosen: Any) -> Any:
        part = values.take(self.index[k][chosen], axis)
        if self.weight is None:
            return part
        shape = [1] * values.ndim
        shape[axis] = -1
        return part * self.weight[k][chosen].astype(values.dtype).reshape(shape)

    def transposed(self, size: int) -> Taps:
        """The adjoint: for each of `size` inputs, the outputs that sum it."""
        outputs = numpy.broadcast_to(numpy.arange(self.index.shape[1]), self.index.shape)
        keep = numpy.ones(self.index.shape, bool) if self.present is None else self.present
        inputs, outputs = self.index[keep], outputs[keep]
        order = numpy.argsort(inputs, kind="stable")
        inputs, outputs = inputs[order], outputs[order]
        counts = numpy.bincount(inputs, minlength=size)
        rank = numpy.arange(len(inputs)) - numpy.repeat(numpy.cumsum(counts) - counts, counts)
        longest = int(counts.max(initial=0))
        index = numpy.zeros((longest, size), numpy.int64)
        index[rank, inputs] = outputs
        weight = None
        if self.weight is not None:
            weight = numpy.zeros((longest, size), self.weight.dtype)
            weight[rank, inputs] = self.weight[keep][order]
        return Taps(index, weight, numpy.arange(longest)[:, None] < counts)
