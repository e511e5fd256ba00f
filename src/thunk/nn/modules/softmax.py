"""Softmax as modules; `activation` is where users find them."""

from __future__ import annotations

from typing import Any

from thunk.nn import functional as F
from thunk.nn.modules.module import Module

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]

# How far up the stack the caller stands whom a warning should name.
_LEVEL = 5


class _AlongDimension(Module):
    """The dimension to normalise; None chooses one with a warning."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"dim": None, **state})

    def extra_repr(self) -> str:
        """All arguments."""
        return f"dim={self.dim}"


class Softmin(_AlongDimension):
    """The softmax of the negated input."""

    def forward(self, input: Any) -> Any:
        """Shares that sum to one."""
        return F.softmin(input, self.dim, _stacklevel=_LEVEL)


class Softmax(_AlongDimension):
    """`exp(x)` divided by its sum along a dimension."""

    def forward(self, input: Any) -> Any:
        """Shares that sum to one."""
        return F.softmax(input, self.dim, _stacklevel=_LEVEL)


class LogSoftmax(_AlongDimension):
    """The logarithm of the softmax along a dimension."""

    def forward(self, input: Any) -> Any:
        """Logarithms of shares that sum to one."""
        return F.log_softmax(input, self.dim, _stacklevel=_LEVEL)


class Softmax2d(Module):
    """The softmax over the channels of every place of pictures."""

    def forward(self, input: Any) -> Any:
        """Shares that sum to one."""
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3, _stacklevel=_LEVEL)
