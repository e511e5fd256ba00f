"""Channels as pixels of larger pictures, and back."""

from __future__ import annotations

from typing import Any

from thunk.nn import functional as F
from thunk.nn.modules.module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Pictures larger by a factor, their pixels taken from channels."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Any) -> Any:
        """Larger pictures of fewer channels."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """All arguments."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pictures smaller by a factor, their pixels put into channels."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Any) -> Any:
        """Smaller pictures of more channels."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """All arguments."""
        return f"downscale_factor={self.downscale_factor}"
