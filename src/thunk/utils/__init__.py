"""Utilities with PyTorch's names that belong to no other layer."""

from thunk.utils import (
    benchmark,
    checkpoint,
    cpp_extension,
    data,
    dlpack,
    hooks,
    model_zoo,
    tensorboard,
)

__all__ = [
    "benchmark", "checkpoint", "cpp_extension", "data", "dlpack", "hooks", "model_zoo",
    "tensorboard",
]  # fmt: skip
