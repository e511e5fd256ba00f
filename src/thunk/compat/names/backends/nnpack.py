"""`torch.backends.nnpack`: a library that this build does not use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext


def is_available() -> bool:
    """Whether NNPACK is used: never."""
    return False


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Other values inside a `with` block: there is nothing to switch."""
    return nullcontext()
