"""Padding of signals, pictures and volumes at their ends.

Enters: (sample, channel, places) or one sample of it. Leaves: the same with more places.
Invariant: `padding` holds two numbers a dimension, the last dimension first.
"""

from __future__ import annotations

from typing import Any

from thunk.nn import functional as F
from thunk.nn.modules.module import Module
from thunk.nn.modules.utils import _ntuple, _pair, _quadruple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip

_sextuple = _ntuple(6)


class _PadNd(Module):
    """What all padding shares."""

    padding: tuple[int, ...]

    def extra_repr(self) -> str:
        """How much is padded."""
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    """Padding with what stands at the other end."""

    def _check_input_dim(self, input: Any) -> None:
        count = len(self.padding) // 2 + 1
        if input.dim() not in (count, count + 1):
            raise ValueError(
                f"expected {count}D or {count + 1}D input (got {input.dim()}D input)"
            )

    def forward(self, input: Any) -> Any:
        """The input continued as if it repeated."""
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    """Signals continued as if they repeated."""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _pair(padding)


class CircularPad2d(_CircularPadNd):
    """Pictures continued as if they repeated."""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class CircularPad3d(_CircularPadNd):
    """Volumes continued as if they repeated."""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ConstantPadNd(_PadNd):
    """Padding with one value."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, input: Any) -> Any:
        """The input with a margin of `value`."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """How much is padded, and with what."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Signals with a margin of one value."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(value)
        self.padding = _pair(padding)


class ConstantPad2d(_ConstantPadNd):
    """Pictures with a margin of one value."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(value)
        self.padding = _quadruple(padding)


class ConstantPad3d(_ConstantPadNd):
    """Volumes with a margin of one value."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(value)
        self.padding = _sextuple(padding)


class ZeroPad1d(ConstantPad1d):
    """Signals with a margin of zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """How much is padded."""
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pictures with a margin of zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """How much is padded."""
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Volumes with a margin of zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """How much is padded."""
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    """Padding with the mirror image."""

    def forward(self, input: Any) -> Any:
        """The input mirrored at its ends."""
        return F.pad(input, self.padding, "reflect")


class ReflectionPad1d(_ReflectionPadNd):
    """Signals mirrored at their ends."""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReflectionPad2d(_ReflectionPadNd):
    """Pictures mirrored at their ends."""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReflectionPad3d(_ReflectionPadNd):
    """Volumes mirrored at their ends."""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ReplicationPadNd(_PadNd):
    """Padding with the outermost elements."""

    def forward(self, input: Any) -> Any:
        """The input with its outermost elements repeated."""
        return F.pad(input, self.padding, "replicate")


class ReplicationPad1d(_ReplicationPadNd):
    """Signals with their outermost elements repeated."""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReplicationPad2d(_ReplicationPadNd):
    """Pictures with their outermost elements repeated."""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReplicationPad3d(_ReplicationPadNd):
    """Volumes with their outermost elements repeated."""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _sextuple(padding)
