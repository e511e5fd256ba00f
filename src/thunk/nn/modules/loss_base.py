"""What every loss as a module shares: its reduction, and its weights."""

from __future__ import annotations

from typing import Any

from thunk.nn.functional.reduction import resolved
from thunk.nn.modules.module import Module

__all__ = ["_Loss", "_WeightedLoss"]


class _Loss(Module):
    """A loss and how the losses of elements become one."""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__()
        self.reduction = resolved(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss whose classes or elements have weights; they move with the module."""

    weight: Any

    def __init__(
        self, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
