"""Enters: all layers. Leaves: the public functions, one a declared operator.

Invariant: importing this module imports every declaration, rule and kernel exactly once.
"""

from __future__ import annotations

from typing import Any

import thunk.autograd.install
import thunk.backends.reference.rules
import thunk.ops.families
import thunk.tensor.methods  # noqa: F401
from thunk.ops.registry import all_packets


def publish(names: dict[str, Any]) -> None:
    """Enter the top-level functions into `names`."""
    for packet in all_packets():
        if packet.namespace == "aten" and any(
            "function" in op.variants and not op.module for op in packet.overloads
        ):
            names.setdefault(packet.name, packet)
