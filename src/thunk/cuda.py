"""`thunk.cuda`: what scripts ask before they choose a device. This build has no CUDA device."""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """Whether a CUDA device can be used: never."""
    return False


def is_initialized() -> bool:
    """Whether CUDA was started: never."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a CUDA device computes in bfloat16: there is none."""
    return False


def device_count() -> int:
    """The number of CUDA devices: none."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the current CUDA device; as in PyTorch, without one there is nothing to seed."""


def manual_seed_all(seed: int) -> None:
    """Seed all CUDA devices: none."""


def empty_cache() -> None:
    """Release the memory that CUDA keeps: none."""


def _refuse(name: str) -> Any:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError(
            f"cuda.{name}: expected a CUDA device, got none: Torch not compiled with CUDA enabled; "
            "ask is_available() first"
        )

    refused.__name__ = name
    return refused


current_device = _refuse("current_device")
set_device = _refuse("set_device")
synchronize = _refuse("synchronize")
get_device_name = _refuse("get_device_name")
get_device_properties = _refuse("get_device_properties")
