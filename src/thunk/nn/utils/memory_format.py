"""Enters: a module. Leaves: the module with the weights of its convolutions laid out otherwise."""

from __future__ import annotations

from typing import Any


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lay out the weights of all two-dimensional convolutions."""
    return _converted(module, memory_format, {"Conv2d", "ConvTranspose2d"})


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lay out the weights of all three-dimensional convolutions."""
    return _converted(module, memory_format, {"Conv3d", "ConvTranspose3d"})


def _converted(module: Any, memory_format: Any, kinds: set[str]) -> Any:
    for each in module.modules():
        if kinds & {cls.__name__ for cls in type(each).__mro__}:
            each.weight.data = each.weight.detach().clone(memory_format=memory_format)
    return module
