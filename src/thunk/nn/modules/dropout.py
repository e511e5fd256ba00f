"""Dropout: elements or whole channels set to zero at random while training.

Enters: any tensor. Leaves: one of the same shape. Invariant: outside training nothing changes.
"""

from __future__ import annotations

from typing import Any

from thunk.nn import functional as F
from thunk.nn.modules.module import Module

__all__ = [
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
]  # fmt: skip


class _DropoutNd(Module):
    """The arguments of every kind of dropout."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """All arguments."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Elements set to zero with probability `p`, the rest divided by `1 - p`."""

    def forward(self, input: Any) -> Any:
        """The input with gaps in training, the input itself otherwise."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Whole channels of signals set to zero."""

    def forward(self, input: Any) -> Any:
        """The input with gaps in training, the input itself otherwise."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Whole channels of pictures set to zero."""

    def forward(self, input: Any) -> Any:
        """The input with gaps in training, the input itself otherwise."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Whole channels of volumes set to zero."""

    def forward(self, input: Any) -> Any:
        """The input with gaps in training, the input itself otherwise."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Elements dropped so that a SELU network stays normalised."""

    def forward(self, input: Any) -> Any:
        """The input with gaps in training, the input itself otherwise."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Whole channels dropped so that a SELU network stays normalised."""

    def forward(self, input: Any) -> Any:
        """The input with gaps in training, the input itself otherwise."""
        return F.feature_alpha_dropout(input, self.p, self.training)
