"""Dimensions joined into one, or one split into several."""

from __future__ import annotations

from typing import Any

from thunk.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """The dimensions from `start_dim` to `end_dim` joined into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        """The same elements in fewer dimensions."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """All arguments."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension split into several."""

    def __init__(self, dim: Any, unflattened_size: Any) -> None:
        super().__init__()
        self._require_tuple_int(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_int(self, given: Any) -> None:
        if not isinstance(given, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(given).__name__}"
            )
        for place, each in enumerate(given):
            if not isinstance(each, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(each).__name__} at pos {place}"
                )

    def forward(self, input: Any) -> Any:
        """The same elements in more dimensions."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """All arguments."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
