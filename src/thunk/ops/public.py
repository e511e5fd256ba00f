"""Enters: the declarations of every family. Leaves: the functions of each public module, by name.

Invariant: a function is public where its declaration says (`module=`), under ATen's name without
the module's prefix: `special_i0` is `special.i0`.
"""

from __future__ import annotations

from thunk.ops import families
from thunk.ops.registry import Packet, all_packets

DECLARED = families.FAMILIES


def public_functions(module: str = "") -> dict[str, Packet]:
    """The functions whose home is `module` ("" for the top level)."""
    prefix = f"{module}_" if module else ""
    return {
        packet.name.removeprefix(prefix): packet
        for packet in all_packets()
        if packet.namespace == "aten"
        and any("function" in op.variants and op.module == module for op in packet.overloads)
    }

