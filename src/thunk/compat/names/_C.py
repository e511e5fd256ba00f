"""`torch._C`: the few names of PyTorch's C++ module that Python code outside of it touches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from thunk.tensor.generator import Generator
from thunk.tensor.tensor import Tensor as TensorBase
from thunk.types.device import device, get_default_device
from thunk.types.dtype import dtype
from thunk.types.layout import layout, memory_format
from thunk.types.size import Size


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged."""


def _get_tracing_state() -> None:
    """The state of TorchScript's tracer: there is none."""


def _get_accelerator() -> device:
    """The accelerator, or the CPU."""
    return device("cpu")


def _get_default_device() -> str:
    """Where new tensors live."""
    return str(get_default_device())


def _are_functorch_transforms_active() -> bool:
    """Whether a transform of `torch.func` is running on C++'s side: never."""
    return False


def _cuda_isInBadFork() -> bool:
    """Whether CUDA was started before a fork: never."""
    return False


def _disabled_torch_function_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A `__torch_function__` that overrides nothing."""
    return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def DisableTorchFunctionSubclass() -> Iterator[None]:
    """Override nothing inside a `with` block."""
    yield


__all__ = ["Generator", "Size", "TensorBase", "device", "dtype", "layout", "memory_format"]
