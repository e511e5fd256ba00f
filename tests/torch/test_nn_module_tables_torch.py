"""Members of modules against PyTorch, under random changes by every door there is.

Thunk keeps members in the instance's `__dict__` as well, PyTorch only in its tables; nobody may see
a difference, whether the tables are changed by attributes, by methods or directly.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import thunk

NAMES = ("a", "b", "shown", "2")
TABLES = ("_parameters", "_buffers", "_modules")


def make_class(lib: Any) -> Any:
    class Subject(lib.nn.Module):
        shown = "class attribute"

    return Subject


SUBJECTS = {lib.__name__: make_class(lib) for lib in (thunk, torch)}


def value_of(lib: Any, kind: str, number: int) -> Any:
    filled = lib.full((1,), float(number))
    makers = {
        "parameter": lambda: lib.nn.Parameter(filled), "tensor": lambda: filled,
        "buffer": lambda: lib.nn.Buffer(filled), "none": lambda: None,
        "number": lambda: float(number), "module": lambda: lib.nn.Flatten(number),
    }  # fmt: skip
    return makers[kind]()


def as_text(value: Any) -> str:
    return f"{type(value).__name__} {value!r}".replace("thunk.", "torch.")


def act(lib: Any, module: Any, step: tuple[Any, ...]) -> Any:
    """One change; returns the module to go on with."""
    action, name, table, kind, number = step
    members, value = getattr(module, table), value_of(lib, kind, number)
    registered = any(name in getattr(module, each) for each in TABLES)
    if kind == "none" and (action == "hide" or (action == "set" and not registered)):
        return module  # a plain attribute that is the later member, None, counts as the member
    if action == "copied":
        return copy.deepcopy(module)
    if action == "dictionary copied":
        twin = type(module).__new__(type(module))
        twin.__dict__ = module.__dict__.copy()
        setattr(twin, table, dict(members))
        return twin
    changes = {
        "set": lambda: setattr(module, name, value),
        "delete": lambda: delattr(module, name),
        "register parameter": lambda: module.register_parameter(name, value),
        "register buffer": lambda: module.register_buffer(name, value, persistent=number > 1),
        "add": lambda: module.add_module(name, value),
        "set in table": lambda: members.__setitem__(name, value),
        "delete in table": lambda: members.__delitem__(name),
        "pop": lambda: members.pop(name),
        "pop or": lambda: members.pop(name, None),
        "pop item": members.popitem,
        "clear": members.clear,
        "update": lambda: members.update({name: value}),
        "merge": lambda: members.__ior__({name: value}),
        "default": lambda: members.setdefault(name, value),
        "assign table": lambda: setattr(module, table, {name: value}),
        "hide": lambda: object.__setattr__(module, name, value),
    }
    changes[action]()
    return module


ACTIONS = (
    "set", "set", "delete", "register parameter", "register buffer", "add", "set in table",
    "delete in table", "pop", "pop or", "pop item", "clear", "update", "merge", "default",
    "assign table", "hide", "copied", "dictionary copied",
)  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.sampled_from(ACTIONS),
        st.sampled_from(NAMES),
        st.sampled_from(TABLES),
        st.sampled_from(("parameter", "tensor", "buffer", "none", "number", "module")),
        st.integers(1, 2),
    ),
    max_size=12,
)


def seen(module: Any) -> list[str]:
    found = [as_text(getattr(module, name, "nothing")) for name in NAMES]
    found += [f"{table} {list(getattr(module, table))}" for table in TABLES]
    return [*found, f"{sorted(module._non_persistent_buffers_set)}"]


def check_mirror(module: Any) -> None:
    """A member is in `__dict__`, unless the class or a plain attribute hides it."""
    merged = {**module._modules, **module._buffers, **module._parameters}
    for name, member in merged.items():
        if name in module.__dict__ and module.__dict__[name] is not member:
            continue  # hidden by a plain attribute, in PyTorch too: `seen` compares what it shows
        assert name in module.__dict__ or hasattr(type(module), name)


@settings(max_examples=400)
@given(STEPS)
def test_nobody_sees_where_members_are_kept(steps: list[tuple[Any, ...]]) -> None:
    modules = {lib: SUBJECTS[lib.__name__]() for lib in (thunk, torch)}
    for step in steps:
        outcomes = []
        for lib in (thunk, torch):
            try:
                modules[lib] = act(lib, modules[lib], step)
                outcomes.append("done")
            except Exception as error:
                outcomes.append(f"{type(error).__name__} {error}".replace("thunk.", "torch."))
        assert outcomes[0].split()[0] == outcomes[1].split()[0], (step, outcomes)
        assert seen(modules[thunk]) == seen(modules[torch]), (step, outcomes)
        check_mirror(modules[thunk])
