"""Constraints that hold side by side along a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.distributions.constraints.base import Constraint, check_constraint
from thunk.ops.registry import t


class _Joined(Constraint):
    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        self.cseq = list(cseq)
        for each in self.cseq:
            check_constraint(each)
        self.dim = dim

    @property
    def is_discrete(self) -> Any:
        """Whether some values are whole numbers."""
        return any(each.is_discrete for each in self.cseq)

    @property
    def event_dim(self) -> Any:
        """How many dimensions one event has."""
        return max(each.event_dim for each in self.cseq)

    def _check_dim(self, value: Any) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for a value with {value.dim()} dimensions"
            )


class _Cat(_Joined):
    """Stretches of a dimension, each with its constraint."""

    def __init__(
        self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"cat: expected {len(self.cseq)} lengths, got {len(self.lengths)}"
            )

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        parts = t.split(value, self.lengths, self.dim)
        pairs = zip(self.cseq, parts, strict=True)
        return t.cat([constraint.check(part) for constraint, part in pairs], self.dim)


class _Stack(_Joined):
    """Slices of a dimension, each with its constraint."""

    @property
    def event_dim(self) -> Any:
        """How many dimensions one event has."""
        inner = max(each.event_dim for each in self.cseq)
        return inner + 1 if self.dim + inner < 0 else inner

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        pairs = zip(self.cseq, t.unbind(value, self.dim), strict=True)
        return t.stack([constraint.check(part) for constraint, part in pairs], self.dim)
