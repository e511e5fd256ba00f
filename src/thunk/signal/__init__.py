"""`thunk.signal`: window functions of signal processing."""

from thunk.signal import windows

__all__ = ["windows"]
