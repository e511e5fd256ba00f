"""Channels dealt out anew between groups."""

from __future__ import annotations

from typing import Any

from thunk.nn import functional as F
from thunk.nn.modules.module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """The channels of `groups` groups, one of each group in turn."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Any) -> Any:
        """The same channels in another order."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """All arguments."""
        return f"groups={self.groups}"
