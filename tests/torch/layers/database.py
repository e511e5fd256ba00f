"""The configs that torch's own tests use, from its database of modules.

In: a module's name, a dtype and whether it trains. Out: `Config`s. The database lives in torch's
test code and changes with it; a test counts what it holds, so that a change is noticed.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

from .judge import Config, seed_torch

# Some entries hold hundreds of configs that differ in combinations of few arguments; the two dtypes
# take different ones of them.
MOST = 16
LARGE = ("Transformer", "LSTM", "GRU", "RNN")
MOST_OF_LARGE = 8
DTYPES = (torch.float32, torch.float64)


@functools.cache
def entries() -> dict[str, Any]:
    """The database by name, without what other tests judge."""
    return {
        info.module_cls.__name__: info for info in module_db
        if not info.is_lazy and info.module_cls.__module__.startswith("torch.nn.")
    }


def spread(listed: list[Any], most: int, begin: int) -> list[Any]:
    """At most so many elements from everywhere in a list; `begin` 1 gives others than 0."""
    if len(listed) <= most:
        return listed
    step = len(listed) / most
    return [listed[int((begin / 2 + place) * step)] for place in range(most)]


def as_config(name: str, given: Any) -> Config:
    made, called = given.constructor_input, given.forward_input
    inputs = (tuple(called.args), dict(called.kwargs)) if called is not None else ((), {})
    return Config(name, tuple(made.args), dict(made.kwargs), *inputs, given.desc)


def configs(name: str, dtype: torch.dtype, training: bool) -> list[Config]:
    info = entries()[name]
    seed_torch()
    listed = info.module_inputs_func(info, "cpu", dtype, True, training)
    most = MOST_OF_LARGE if name.startswith(LARGE) else MOST
    chosen = spread(listed, most, DTYPES.index(dtype))
    return [as_config(name, each) for each in chosen]


def errors(name: str, dtype: torch.dtype) -> list[tuple[Config, bool, type[Exception]]]:
    """Configs that torch refuses: whether when made (else when called), and with what."""
    info = entries()[name]
    if info.module_error_inputs_func is None:
        return []
    seed_torch()
    found = []
    for each in info.module_error_inputs_func(info, "cpu", dtype, True, True):
        when_made = each.error_on is ModuleErrorEnum.CONSTRUCTION_ERROR
        found.append((as_config(name, each.module_error_input), when_made, each.error_type))
    return found
