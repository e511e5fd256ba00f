"""Enters: nothing. Leaves: every module class and what is registered for all modules.

One line a file, in alphabetical order; what a file offers is what its `__all__` names, or every
`Module` class that it defines.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from thunk.nn.modules import (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    lazy,
    lazy_conv,
    lazy_linear,
    lazy_norm,
    lazy_normalization,
    linear,
    linear_cross_entropy_options,
    loss,
    module,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
from thunk.nn.modules.module import Module

FILES = (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    lazy,
    lazy_conv,
    lazy_linear,
    lazy_norm,
    lazy_normalization,
    linear,
    linear_cross_entropy_options,
    loss,
    module,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)


def offered(file: ModuleType) -> dict[str, Any]:
    """The public names of one file of modules."""
    names = getattr(file, "__all__", None)
    if names is not None:
        return {name: getattr(file, name) for name in names}
    return {
        name: value
        for name, value in vars(file).items()
        if not name.startswith("_")
        and isinstance(value, type)
        and issubclass(value, Module)
        and value.__module__ == file.__name__
    }


def _publish(names: dict[str, Any]) -> None:
    found = {name: value for file in FILES for name, value in offered(file).items()}
    for name, value in found.items():
        eager = getattr(value, "cls_to_become", None)
        if eager is not None:  # PyTorch defines lazy classes beside the eager ones
            setattr(sys.modules[eager.__module__], name, value)
    names.update(found)
    names["__all__"] = sorted(found)


_publish(globals())
