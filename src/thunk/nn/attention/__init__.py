"""`nn.attention`: which way attention is computed. The compiler chooses; wishes are accepted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import Enum
from typing import Any

from thunk.nn.attention import flex_attention


class SDPBackend(Enum):
    """A way to compute attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Allow only some ways inside a `with` block; the result is the same by any."""
    wanted = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(each, SDPBackend) for each in wanted):
        raise AssertionError(
            "sdpa_kernel: expected an instance of SDPBackend or a list of them, got "
            f"{[type(each).__name__ for each in wanted]}"
        )
    yield


__all__ = ["SDPBackend", "flex_attention", "sdpa_kernel"]
