"""Enters: the declarations of every family. Leaves: the functions of each public module, by name.

Invariant: a function is public where its declaration says (`module=`), under ATen's name without
the module's prefix: `special_i0` is `special.i0`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.ops.public import public_functions
from thunk.tensor.callables import function_of

_HOMES = {"": "thunk", "nn": "thunk.nn.functional"}


def functions(module: str = "") -> dict[str, Callable[..., Any]]:
    """The functions whose home is `module` ("" for the top level)."""
    home = _HOMES.get(module, f"thunk.{module}")
    packets = public_functions(module)
    return {name: function_of(packet, name, home) for name, packet in packets.items()}


def publish_module(module: str, names: dict[str, Any]) -> None:
    """Enter the functions of `module` into `names`, which keep what they define themselves."""
    made = functions(module)
    for name, function in made.items():
        names.setdefault(name, function)
    names.setdefault("__all__", sorted(made))
