"""Modules that hold modules or parameters: the public home of all of them."""

import warnings
from typing import Any

from thunk.nn.modules.container_mapping import ModuleDict
from thunk.nn.modules.container_parameters import ParameterDict, ParameterList
from thunk.nn.modules.container_sequence import ModuleList, Sequential
from thunk.nn.modules.module import Module

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """The old name of a module that holds modules given by name."""

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


for _class in (ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential):
    _class.__module__ = __name__
