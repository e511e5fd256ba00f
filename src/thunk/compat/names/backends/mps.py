"""`torch.backends.mps`: Apple's GPUs, which this build does not use."""

from __future__ import annotations


def is_available() -> bool:
    """Whether an Apple GPU can be used: never."""
    return False


def is_built() -> bool:
    """Whether support for Apple GPUs was built in: never."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether macOS has that version at least; asked only where there is an Apple GPU."""
    return False
