"""The configs that torch's own tests use, from its database of modules.

In: a module's name, a dtype and whether it trains. Out: `Config`s. The database lives in torch's
test code and changes with it; a test counts what it holds, so that a change is noticed.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

from .judge import SEED, Config

# Some entries hold hundreds of configs that differ in combinations of few arguments; the two dtypes
# take different ones of them.
MOST = 8
DTYPES = (torch.float32, torch.float64)


@functools.cache
def entries() -> dict[str, Any]:
    """The database by name, without what other tests judge."""
    return {
        info.module_cls.__name__: info for info in module_db
        if not info.is_lazy and info.module_cls.__module__.startswith("torch.nn.")
    }


def spread(listed: list[Any], dtype: torch.dtype) -> list[Any]:
    """At most so many elements from everywhere in a list; other ones for each dtype."""
    if len(listed) <= MOST:
        return listed
    step = len(listed) / MOST
    begin = DTYPES.index(dtype) * step / 2
    return [listed[int(begin + place * step)] for place in range(MOST)]


def as_config(name: str, given: Any) -> Config:
    made, called = given.constructor_input, given.forward_input
    inputs = (tuple(called.args), dict(called.kwargs)) if called is not None else ((), {})
    return Config(name, tuple(made.args), dict(made.kwargs), *inputs, given.desc)


def configs(name: str, dtype: torch.dtype, training: bool) -> list[Config]:
    info = entries()[name]
    torch.manual_seed(SEED)
    listed = info.module_inputs_func(info, "cpu", dtype, True, training)
    return [as_config(name, each) for each in spread(listed, dtype)]


def errors(name: str, dtype: torch.dtype) -> list[tuple[Config, bool, type[Exception]]]:
    """Configs that torch refuses: whether when made (else when called), and with what."""
    info = entries()[name]
    if info.module_error_inputs_func is None:
        return []
    torch.manual_seed(SEED)
    found = []
    for each in info.module_error_inputs_func(info, "cpu", dtype, True, True):
        when_made = each.error_on is ModuleErrorEnum.CONSTRUCTION_ERROR
        found.append((as_config(name, each.module_error_input), when_made, each.error_type))
    return found
