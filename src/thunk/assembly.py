"""Enters: all layers. Leaves: the public functions, one a declared operator.

Invariant: importing this module imports every declaration, rule and kernel exactly once.
"""

from __future__ import annotations

from typing import Any

import thunk.autograd.install
import thunk.backends.reference.rules
import thunk.lazy.install
import thunk.ops.families
import thunk.tensor.methods  # noqa: F401
from thunk.tensor.public import functions


def publish(names: dict[str, Any]) -> None:
    """Enter the top-level functions into `names`."""
    for name, function in functions().items():
        names.setdefault(name, function)
