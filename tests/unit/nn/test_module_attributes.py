"""Where modules keep their members, and what reading and calling them costs."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import thunk
from thunk import nn
from thunk.nn.modules.tables import MEMBER_TABLES, HookTable, Members, world


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(thunk.ones(2))
        self.register_buffer("total", thunk.zeros(1))
        self.child = nn.Identity()

    def forward(self, x: Any) -> Any:
        return x


class WithOwnState(Net):
    """Pickles its `__dict__` as it is, as user code does."""

    def __getstate__(self) -> Any:
        return self.__dict__.copy()

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)


def calls_of(function: Callable[[], Any]) -> list[str]:
    """The names of the Python functions that run, beside `function` itself."""
    names: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return names[1:]


def assert_mirrored(module: Any) -> None:
    for table in MEMBER_TABLES:
        for name, member in getattr(module, table).items():
            assert module.__dict__[name] is member


@pytest.mark.parametrize("name", ["weight", "total", "child"])
def test_reading_a_member_runs_no_python(name: str) -> None:
    module = Net()
    read = {
        "weight": lambda: module.weight, "total": lambda: module.total,
        "child": lambda: module.child,
    }[name]  # fmt: skip
    assert calls_of(read) == []
    setattr(module, name, copy.deepcopy(getattr(module, name)))
    assert calls_of(read) == []
    twin = pickle.loads(pickle.dumps(module))
    module.__dict__.update(twin.__dict__)
    assert_mirrored(twin)


def test_a_call_without_hooks_runs_forward_and_nothing_else() -> None:
    module, x = Net(), thunk.ones(1)
    assert calls_of(lambda: module(x)) == ["__call__", "forward"]
    handle = module.register_forward_hook(lambda *_: None)
    assert len(calls_of(lambda: module(x))) > 2
    handle.remove()
    assert calls_of(lambda: module(x)) == ["__call__", "forward"]
    everywhere = nn.modules.module.register_module_forward_hook(lambda *_: None)
    assert len(calls_of(lambda: module(x))) > 2
    everywhere.remove()
    assert calls_of(lambda: module(x)) == ["__call__", "forward"]


def test_every_table_of_call_hooks_is_noticed() -> None:
    for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"):
        module = Net()
        assert module._hooked is False
        getattr(module, name)[1] = print
        assert module._hooked is True
        getattr(module, name).popitem()
        assert module._hooked is False
        setattr(module, name, {5: print})
        assert isinstance(getattr(module, name), HookTable)
        assert module._hooked is True


def test_a_module_dies_with_its_last_reference() -> None:
    gc.collect()
    gc.disable()
    try:
        module = nn.Sequential(Net(), nn.Linear(2, 2))
        module.register_forward_hook(lambda *_: None).remove()
        watched = [weakref.ref(module[0]), weakref.ref(module[0].weight), weakref.ref(module)]
        del module
        assert [each() for each in watched] == [None, None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("kind", [Net, WithOwnState])
def test_copies_have_tables_of_their_own(kind: Any) -> None:
    module = kind()
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert twin.weight is twin._parameters["weight"]
        twin._parameters["weight"] = nn.Parameter(thunk.zeros(3))
        assert twin.weight.shape == (3,)
        twin.register_forward_hook(lambda *_: "seen")
        assert twin(1) == "seen"
        assert module.weight.shape == (2,)
        assert module(1) == 1
        assert_mirrored(twin)


def test_a_shallow_copy_shares_the_tables_as_in_pytorch() -> None:
    module = Net()
    twin = copy.copy(module)
    twin.weight = nn.Parameter(thunk.zeros(5))
    assert module.weight is twin.weight
    assert module._parameters["weight"] is twin.weight
    del module.child
    assert not hasattr(twin, "child")


def test_pickles_hold_plain_dictionaries() -> None:
    """What a table knows of its module stays behind, and no member is there twice."""
    state = Net().__getstate__()
    assert "weight" not in state
    assert "_hooked" not in state
    assert type(pickle.loads(pickle.dumps(state["_parameters"]))) is dict
    assert type(copy.deepcopy(state["_parameters"])) is dict


def test_a_class_attribute_hides_a_member_as_in_pytorch() -> None:
    class Hiding(nn.Module):
        scale = 1

    module = Hiding()
    module._parameters["scale"] = nn.Parameter(thunk.ones(1))
    assert module.scale == 1
    assert "scale" not in module.__dict__


def test_getattr_of_a_wrapper_finds_members_and_falls_through() -> None:
    class Wrapper(nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

    inner = Net()
    wrapper = Wrapper(inner)
    assert wrapper.weight is inner.weight
    assert wrapper.inner is inner
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nowhere'"):
        wrapper.nowhere


def test_the_world_counts_changes_and_nothing_else() -> None:
    module, x = Net(), thunk.ones(1)
    other = nn.Parameter(thunk.zeros(2))

    def counts(action: Callable[[], Any]) -> bool:
        before = world.version
        action()
        return world.version > before

    changes: list[Callable[[], Any]] = [
        lambda: setattr(module, "plain", 1), lambda: setattr(module, "weight", other),
        lambda: module._parameters.__setitem__("weight", other), lambda: delattr(module, "plain"),
        lambda: module.register_buffer("more", x), lambda: module._buffers.pop("more"),
        lambda: module.add_module("late", nn.Identity()), lambda: module.train(),
        lambda: module.register_forward_hook(lambda *_: None),
        lambda: module._forward_hooks.clear(),
        lambda: setattr(module, "_forward_hooks", {}), lambda: setattr(module, "_buffers", {}),
        lambda: nn.modules.module.register_module_forward_hook(lambda *_: None).remove(),
    ]  # fmt: skip
    assert [counts(each) for each in changes] == [True] * len(changes)
    quiet: list[Callable[[], Any]] = [
        lambda: module(x), lambda: module.weight, lambda: list(module.parameters()),
        module.state_dict, lambda: repr(module), lambda: module._parameters.get("weight"),
    ]  # fmt: skip
    assert [counts(each) for each in quiet] == [False] * len(quiet)


def test_members_behave_like_a_dictionary() -> None:
    table = Net()._parameters
    assert isinstance(table, dict)
    assert isinstance(table, Members)
    assert type(table.copy()) is dict
    assert table | {"a": 1} == {**table, "a": 1}
    assert repr(table).startswith("{'weight': Parameter containing:")
    with pytest.raises(KeyError, match="nothing"):
        table.pop("nothing")
    table.clear()
    with pytest.raises(KeyError, match="empty"):
        table.popitem()


def test_compile_hands_the_whole_call_over() -> None:
    module = Net()
    module.register_forward_hook(lambda _, args, output: output + 1)
    compilers = nn.modules.module_call.compiler
    usual = compilers[0]
    try:
        compilers[0] = lambda function, *args, **kwargs: lambda x: function(x) + kwargs["extra"]
        module.compile(extra=10)
        assert module(1) == 12
    finally:
        compilers[0] = usual
    assert copy.deepcopy(module)(1) == 2
    module.compile()
    assert module(1) == 2
