"""Enters: the device that a call asks for. Leaves: the device of its result.

Invariant: a device that this build has no memory on is refused before a tensor claims to be there.
"""

from __future__ import annotations

from thunk.dispatch.call import keys_of_device
from thunk.types.device import CPU, device, get_default_device


def placed(where: device | None, otherwise: device | None = None) -> device:
    """`where`, else `otherwise`, else the default device; the CPU's index does not matter."""
    if where is None:
        return otherwise or get_default_device().of_tensors()
    keys_of_device(where)
    return CPU if where.type == "cpu" else where
