"""`thunk.cpu`: the one device there is, through the questions that accelerators answer."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from thunk.amp.autocast_mode import autocast as _autocast
from thunk.types.device import device as _device


def get_device_module(device: Any = None) -> Any:
    """The module that answers for a type of device: `thunk.cpu`, `thunk.cuda`..."""
    kind = _device("cpu" if device is None else device).type
    found = sys.modules.get(f"thunk.{'cpu' if kind == 'lazy' else kind}")
    if found is None:
        raise RuntimeError(
            f"get_device_module: expected a device with a module, got {kind!r}: Invalid device "
            f"{kind}"
        )
    return found


def is_available() -> bool:
    """Whether there is a CPU."""
    return True


def is_initialized() -> bool:
    """Whether it was started."""
    return True


def device_count() -> int:
    """How many CPUs programs see: one."""
    return 1


def current_device() -> str:
    """The CPU."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose the CPU, which is chosen."""


def synchronize(device: Any = None) -> None:
    """Wait for the CPU; whoever asks for a value waits anyway."""


class Stream:
    """An order of work on the CPU: there is one."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Wait for another order of work."""


def current_stream(device: Any = None) -> Stream:
    """The order of work."""
    return Stream()


def stream(stream: Any) -> AbstractContextManager[None]:
    """Choose an order of work inside a `with` block."""
    return nullcontext()


class _Amp:
    """`cpu.amp`, an older place of `amp`."""

    @staticmethod
    def autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> _autocast:
        """Autocast on the CPU."""
        return _autocast("cpu", dtype, enabled, cache_enabled)


amp = _Amp
