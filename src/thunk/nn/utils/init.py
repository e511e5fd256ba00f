"""Enters: a module class and its arguments. Leaves: a module whose parameters were never drawn."""

from __future__ import annotations

import inspect
from typing import Any

from thunk.nn.modules.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a module on the meta device and give its parameters memory, but no values."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=final)
