"""Modules against PyTorch: what may be assigned, what is found where, what is printed.

Each scenario is played with both libraries; everything it observes must be the same.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch

import thunk
from transcripts import Log, transcript


def net(lib: Any) -> Any:
    """A module with parameters, buffers, shared and absent members, two levels deep."""
    nn = lib.nn

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(lib.ones(2))
            self.register_parameter("absent", None)
            self.register_buffer("kept", lib.zeros(3))
            self.register_buffer("passing", lib.ones(1), persistent=False)
            self.register_buffer("nothing", None)

        def extra_repr(self) -> str:
            return "first\nsecond"

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 3)
            self.inner = Inner()
            self.again = self.inner
            self.tied = nn.Linear(2, 3, bias=False)
            self.tied.weight = self.linear.weight
            self.add_module("gone", None)
            self.own = nn.Parameter(lib.arange(2.0))

    return Outer()


def iteration(lib: Any, log: Log) -> None:
    module = net(lib)
    log([name for name, _ in module.named_parameters()])
    log([name for name, _ in module.named_parameters(remove_duplicate=False)])
    log([name for name, _ in module.named_parameters(prefix="p", recurse=False)])
    log([name for name, _ in module.named_buffers()])
    log([name for name, _ in module.named_buffers(remove_duplicate=False)])
    log([name for name, _ in module.named_modules()])
    log([name for name, _ in module.named_modules(remove_duplicate=False, prefix="m")])
    log([name for name, _ in module.named_children()])
    log(len(list(module.parameters())), len(list(module.modules())), len(list(module.children())))
    log(type(module.parameters()).__name__, type(module.named_parameters()).__name__)


def paths(lib: Any, log: Log) -> None:
    module = net(lib)
    log(module.get_submodule("inner") is module.inner, module.get_submodule("") is module)
    log(module.get_parameter("inner.scale"), module.get_buffer("inner.passing"))
    for path in ("nope", "inner.scale", "inner.nope.deep", "own"):
        log.tries(lambda path=path: module.get_submodule(path))
    for path in ("inner.kept", "inner.nope", "linear", "nope.weight"):
        log.tries(lambda path=path: module.get_parameter(path))
        log.tries(lambda path=path: module.get_buffer(path))
    module.set_submodule("inner", lib.nn.Identity())
    log(module)
    log.tries(lambda: module.set_submodule("", lib.nn.Identity()))
    log.tries(lambda: module.set_submodule("own", lib.nn.Identity()))
    log.tries(lambda: module.set_submodule("new", lib.nn.Identity(), strict=True))
    log.tries(lambda: module.set_submodule("linear", 3))


def assignment(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = net(lib)

    def assign(name: str, value: Any) -> None:
        log.tries(lambda: setattr(module, name, value))
        log(name in module._parameters, name in module._buffers, name in module._modules)
        log(name in module._non_persistent_buffers_set, type(getattr(module, name, 0)).__name__)

    for name in ("own", "linear", "plain", "gone", "inner"):
        for value in (lib.ones(1), 5, None, nn.Parameter(lib.ones(2)), nn.Identity()):
            assign(name, value)
    inner = module.again
    for value in (5, nn.Parameter(lib.ones(2)), None, lib.zeros(1), nn.Identity()):
        log.tries(lambda value=value: setattr(inner, "kept", value))
        log("kept" in inner._buffers, "kept" in inner._parameters, "kept" in inner._modules)
    inner.passing = lib.zeros(4)
    log("passing" in inner._non_persistent_buffers_set, inner.passing)
    inner.marked = nn.Buffer(lib.ones(2), persistent=False)
    log(list(inner._buffers), sorted(inner._non_persistent_buffers_set), list(inner.state_dict()))


def deletion(lib: Any, log: Log) -> None:
    module = net(lib)
    for name in ("own", "linear", "inner", "never"):
        log.tries(lambda name=name: delattr(module, name))
        log(hasattr(module, name))
    log.tries(lambda: module.linear)
    del module.again.passing
    log(sorted(module.again._non_persistent_buffers_set), list(module.again._buffers))
    log(module)


def registration(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = net(lib)
    leaf = nn.Parameter(lib.ones(1))
    for name in ("a.b", "", "linear", "forward", "own", 3):
        log.tries(lambda name=name: module.register_parameter(name, leaf))
        log.tries(lambda name=name: module.register_buffer(name, lib.ones(1)))
        log.tries(lambda name=name: module.add_module(name, nn.Identity()))
    log.tries(lambda: module.register_parameter("x", lib.ones(1)))
    log.tries(lambda: module.register_parameter("x", 3))
    log.tries(lambda: module.register_buffer("x", 3))
    log.tries(lambda: module.add_module("x", 3))
    log.tries(lambda: module.register_module("y", nn.Identity()))
    log.tries(lambda: nn.Module(3))
    log.tries(lambda: nn.Module(a=3))
    log.tries(lambda: nn.Module()(3))
    log.tries(lambda: module.no_such_name)


def before_init(lib: Any, log: Log) -> None:
    nn = lib.nn

    class Early(nn.Module):
        def __init__(self, name: str, value: Any) -> None:
            setattr(self, name, value)
            super().__init__()

    log.tries(lambda: Early("p", nn.Parameter(lib.ones(1))))
    log.tries(lambda: Early("m", nn.Identity()))
    log.tries(lambda: Early("b", lib.ones(1)).b)
    log.tries(lambda: Early("n", 1).n)

    class EarlyBuffer(nn.Module):
        def __init__(self) -> None:
            self.register_buffer("b", lib.ones(1))

    log.tries(EarlyBuffer)

    class Cooperative(nn.Module):
        call_super_init = True

    class Base:
        def __init__(self, word: str = "none") -> None:
            self.word = word

    class Both(Cooperative, Base):
        pass

    log(Both(word="heard").word)


def printing(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = net(lib)
    log(module, nn.Module(), nn.Sequential(), nn.ModuleList([nn.Linear(2, 2)] * 3 + [module]))
    log(nn.ModuleDict({"a": module, "b": nn.Identity()}), module.again)
    log(module.own, nn.Parameter(lib.ones(1), requires_grad=False), nn.Parameter())
    log([name for name in dir(module) if not name.startswith("__") and "hook" not in name
         and name in ("own", "linear", "inner", "again", "training", "forward", "_modules")])
    log(dir(nn.Sequential(nn.Identity())).count("0"))


def training(lib: Any, log: Log) -> None:
    module = net(lib)
    log(module.training, module.eval() is module, module.inner.training, module.train().training)
    log.tries(lambda: module.train(1))
    log(module.requires_grad_(False) is module, [p.requires_grad for p in module.parameters()])
    module.requires_grad_()
    for each in module.parameters():
        each.grad = lib.ones_like(each)
    first = module.own.grad
    module.zero_grad(set_to_none=False)
    log(module.own.grad, module.own.grad is first)
    module.zero_grad()
    log(module.own.grad)
    seen: list[str] = []
    module.apply(lambda each: seen.append(type(each).__name__))
    log(seen)


def copies(lib: Any, log: Log) -> None:
    module = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Linear(3, 2))
    module[1].weight = module[0].weight
    module[0].note = [1]
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        log(twin, twin[0].weight is twin[1].weight, twin[0].weight is module[0].weight)
        log(lib.equal(twin[0].weight, module[0].weight), twin[0].note, twin[0].weight.grad)
        log(type(twin[0].weight).__name__, twin[0].weight.requires_grad)
        log(isinstance(twin[0]._parameters, dict), list(twin[0].__dict__["_parameters"]))
    shallow = copy.copy(module)
    shallow.extra = lib.nn.Identity()
    log("extra" in module._modules, hasattr(module, "extra"))
    parameter = lib.nn.Parameter(lib.ones(2))
    parameter.grad = lib.ones(2)
    log(copy.deepcopy(parameter).grad, pickle.loads(pickle.dumps(parameter)))


def direct_tables(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = nn.Linear(2, 2)
    other = nn.Parameter(lib.zeros(2, 2))
    module._parameters["weight"] = other
    log(module.weight is other)
    del module._parameters["weight"]
    log(hasattr(module, "weight"))
    module.weight = lib.ones(2, 2)
    log(type(module.weight).__name__, list(module.state_dict()), module(lib.ones(1, 2)))
    module._parameters["weight"] = other
    log(module.weight is other, type(module.weight).__name__, "weight" in module.state_dict())
    module._buffers.update(left=lib.ones(1), right=None)
    log(module.left, module.right, list(module.state_dict()))
    log(module._buffers.pop("left"), hasattr(module, "left"), module._buffers.pop("no", 3))
    module._modules = {"child": nn.Identity()}
    log(module.child, module)
    module._modules.clear()
    log(hasattr(module, "child"), module._modules.setdefault("late", nn.Identity()), module.late)
    log(module._modules.popitem(), hasattr(module, "late"))
    module.__dict__["weight"] = 3
    log(module.weight)


SCENARIOS = [
    iteration, paths, assignment, deletion, registration, before_init, printing, training, copies,
    direct_tables,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_both_say_the_same(scenario: Any) -> None:
    ours, theirs = transcript(thunk, scenario), transcript(torch, scenario)
    assert ours == theirs
