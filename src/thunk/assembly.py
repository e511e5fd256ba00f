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
from thunk.base.config import config
from thunk.dispatch.state import record_by_default
from thunk.nn.modules.module import Module
from thunk.nn.parameter import Parameter
from thunk.serialization.rebuild import announce_parameter_class
from thunk.serialization.safe import announce_family
from thunk.tensor.public import functions


def _choose_execution() -> None:
    record_by_default(config.lazy and not config.eager)


_choose_execution()
config.watch("lazy", _choose_execution)
config.watch("eager", _choose_execution)

# `serialization` stands beside `nn` and knows it by announcement only.
announce_parameter_class(Parameter)
announce_family(Module)


def publish(names: dict[str, Any]) -> list[str]:
    """Enter the top-level functions into `names`; tells which."""
    made = functions()
    for name, function in made.items():
        names.setdefault(name, function)
    return sorted(made)
