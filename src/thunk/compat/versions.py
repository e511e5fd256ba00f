"""Enters: Thunk's version. Leaves: the versions that scripts see, which compare as PyTorch's do.

Invariant: the public part is the PyTorch release whose interface is offered; the part behind the
plus sign says that it is Thunk.
"""

from __future__ import annotations

import re
from typing import Any

from thunk.base.version import __version__

INTERFACE = "2.13.0"
VISION_INTERFACE = "0.28.0"


class TorchVersion(str):
    """A version that compares with text and with tuples, part by part."""

    __slots__ = ()

    @property
    def release(self) -> tuple[int, ...]:
        """The numbers before the plus sign."""
        return _release(self)

    def __lt__(self, other: Any) -> bool:
        return self._compared(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._compared(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._compared(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._compared(other) >= 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and str.__eq__(self, other):
            return True
        if not isinstance(other, (str, tuple, list)) or "+" in str(other):
            return False
        return self._compared(other) == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def _compared(self, other: Any) -> int:
        theirs = _release(other)
        ours = self.release
        length = max(len(ours), len(theirs))
        left = ours + (0,) * (length - len(ours))
        right = theirs + (0,) * (length - len(theirs))
        return (left > right) - (left < right)


def _release(version: Any) -> tuple[int, ...]:
    if isinstance(version, (tuple, list)):
        return tuple(int(part) for part in version if str(part).isdigit())
    public = str(version).partition("+")[0]
    found = re.match(r"v?(\d+(?:\.\d+)*)", public)
    if found is None:
        raise TypeError(f"TorchVersion: expected a version such as '2.1', got {version!r}")
    return tuple(int(part) for part in found[1].split("."))


VERSION = TorchVersion(f"{INTERFACE}+thunk{__version__}")
VISION_VERSION = TorchVersion(f"{VISION_INTERFACE}+thunk{__version__}")
