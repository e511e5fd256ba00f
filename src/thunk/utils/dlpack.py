"""`thunk.utils.dlpack`: exchange of memory with other libraries, under PyTorch's names."""

from __future__ import annotations

from typing import Any

from thunk.tensor.creation import from_dlpack


def to_dlpack(tensor: Any) -> Any:
    """A capsule that other libraries can take the tensor's memory from."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
