"""Modules that hold modules or parameters: the public home of all of them."""

from thunk.nn.modules.container_mapping import ModuleDict
from thunk.nn.modules.container_parameters import ParameterDict, ParameterList
from thunk.nn.modules.container_sequence import ModuleList, Sequential

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

for _class in (ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential):
    _class.__module__ = __name__
