"""Neural networks: what modules are made of.

Everything that `thunk.nn.modules` offers is here, beside parameters, functions and initialisers.
"""

from typing import TYPE_CHECKING, Any

from thunk.nn import attention, functional, init, modules, parallel, parameter, utils
from thunk.nn.modules.module import Module
from thunk.nn.parallel import DataParallel
from thunk.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

if TYPE_CHECKING:
    from thunk.nn.modules import *  # noqa: F403

__all__ = [
    "Buffer", "DataParallel", "Module", "Parameter", "UninitializedBuffer",
    "UninitializedParameter", "attention", "functional", "init", "modules", "parallel",
    "parameter", "utils",
]  # fmt: skip


def _publish(names: dict[str, Any]) -> None:
    offered: dict[str, Any] = {name: vars(modules)[name] for name in vars(modules)["__all__"]}
    for name, value in offered.items():
        names.setdefault(name, value)
    names["__all__"] = sorted({*names["__all__"], *offered})


_publish(globals())
