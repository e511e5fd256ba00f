"""How PyTorch trades memory for time in `linear_cross_entropy`; here it changes nothing.

Enters: PyTorch's options. Leaves: the same, checked. Invariant: no option changes what is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thunk.types.dtype import bfloat16, float16, float32, float64

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("accurate", "balanced", "compact", "auto")
_ACCUMULATORS = (None, float16, bfloat16, float32, float64)


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """In which chunks and with which precision PyTorch computes the loss."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        name, _, factor = (self.chunking_method or "auto").partition(":")
        chunks = name == "auto" or (name == "aspect_ratio" and _is_count(factor or "1"))
        if not chunks:
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in _ACCUMULATORS:
            raise ValueError(
                f"acc_dtype must be one of {_ACCUMULATORS}, got {self.acc_dtype!r}; "
                "None lets the operator choose"
            )


def _is_count(text: str) -> bool:
    return text.isdigit() and int(text) > 0
