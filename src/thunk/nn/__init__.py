"""Neural networks: what modules are made of.

Everything that `thunk.nn.modules` offers is here, beside parameters, functions and initialisers.
"""

from typing import Any

from thunk.nn import functional, init, modules, parameter, utils
from thunk.nn.modules.module import Module
from thunk.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer", "Module", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional",
    "init", "modules", "parameter", "utils",
]  # fmt: skip


def _publish(names: dict[str, Any]) -> None:
    offered: dict[str, Any] = {name: vars(modules)[name] for name in vars(modules)["__all__"]}
    for name, value in offered.items():
        names.setdefault(name, value)
    names["__all__"] = sorted({*names["__all__"], *offered})


_publish(globals())
