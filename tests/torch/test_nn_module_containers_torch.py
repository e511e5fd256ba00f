"""Containers of modules and parameters against PyTorch: lists, dictionaries and their errors."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
import torch

import thunk
from transcripts import Log, transcript


class Shift:
    """Makes modules that tell one another apart."""

    def __new__(cls, lib: Any, number: int) -> Any:
        module = lib.nn.Linear(1, 1, bias=False)
        with lib.no_grad():
            module.weight.fill_(number)
        return module


def numbers(modules: Any) -> list[int]:
    return [int(module.weight) for module in modules]


def sequential(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = nn.Sequential(*[Shift(lib, number) for number in range(1, 6)])
    log(module(lib.ones(1, 1)).item(), len(module), numbers(module), numbers(module[1:3]))
    log(type(module[:2]).__name__, int(module[-1].weight), list(module[1:3]._modules))
    for index in (5, -6, "1", 1.0):
        log.tries(lambda index=index: module[index])
    module[1] = Shift(lib, 20)
    log(numbers(module), module.append(Shift(lib, 6)) is module, numbers(module))
    log(module.insert(1, Shift(lib, 7)) is module, numbers(module), list(module._modules))
    module.insert(-1, Shift(lib, 8))
    log(numbers(module), int(module.pop(2).weight), numbers(module), list(module._modules))
    del module[0]
    log(numbers(module))
    del module[-1]
    del module[1:3]
    log(numbers(module), list(module._modules), module)
    module.extend(nn.ModuleList([Shift(lib, 9)]))
    log(numbers(module), numbers(module + module), numbers(module * 2), numbers(2 * module))
    module += nn.Sequential(Shift(lib, 10))
    module *= 2
    log(numbers(module), type(module).__name__)
    log.tries(lambda: module + 1)
    log.tries(lambda: module * 1.5)
    log.tries(lambda: module * 0)
    log.tries(lambda: module.append(3))
    log.tries(lambda: module.insert(0, 3))
    log.tries(lambda: module.insert(99, Shift(lib, 1)))
    named = nn.Sequential(OrderedDict(first=Shift(lib, 1), second=Shift(lib, 2)))
    log(named, named.first.weight.item(), named[1:], named[-1].weight.item())
    named[0] = Shift(lib, 5)
    log(named.first.weight.item(), list(named.state_dict()))
    del named[0]
    log(list(named._modules), "0" in dir(named), nn.Sequential()(3))
    log.tries(lambda: nn.Sequential(Shift(lib, 1), 3))


def module_list(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = nn.ModuleList(Shift(lib, number) for number in range(4))
    log(numbers(module), numbers(module[1:]), type(module[1:]).__name__, len(module))
    module[0] = Shift(lib, 10)
    module.insert(1, Shift(lib, 11))
    module.insert(len(module), Shift(lib, 12))
    log(numbers(module), list(module._modules), module.append(Shift(lib, 13)) is module)
    log(int(module.pop(-2).weight), numbers(module))
    del module[1:3]
    del module[0]
    log(numbers(module), list(module._modules))
    module += [Shift(lib, 14)]
    log(numbers(module), numbers(module.__add__([Shift(lib, 15)])), module.extend([]) is module)
    for call in (
        lambda: module.extend(3), lambda: module[99], lambda: module(1),
        lambda: module.append("x"), lambda: nn.ModuleList(3),
    ):  # fmt: skip
        log.tries(call)
    log(nn.ModuleList([nn.Identity(), nn.Identity(), nn.ReLU()]), nn.ModuleList())


def module_dict(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = nn.ModuleDict({"b": Shift(lib, 1), "a": Shift(lib, 2)})
    log(list(module), list(module.keys()), len(module), "a" in module, "z" in module)
    log(numbers(module.values()), [name for name, _ in module.items()])
    module.update([["c", Shift(lib, 3)], ["a", Shift(lib, 4)]])
    log(list(module), numbers(module.values()), int(module.pop("b").weight), list(module))
    module["d"] = nn.Identity()
    del module["c"]
    log(module, module.a.weight.item())
    for call in (
        lambda: module.update(3), lambda: module.update([3]), lambda: module.update([(1, 2, 3)]),
        lambda: module["z"], lambda: module.pop("z"), lambda: module.__setitem__("x", 3),
        lambda: module.__setitem__("keys", nn.Identity()), lambda: module.__delitem__("z"),
        lambda: module.__setitem__(3, nn.Identity()), lambda: module(1),
    ):  # fmt: skip
        log.tries(call)
    module.clear()
    log(len(module), module, hasattr(module, "a"))


def parameter_list(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = nn.ParameterList([nn.Parameter(lib.ones(2)), lib.zeros(1, 2), "text"])
    log(module, len(module), [type(each).__name__ for each in module], list(module.state_dict()))
    module.append(lib.ones(1))
    module += [lib.ones(3)]
    module[0] = lib.full((2,), 5.0)
    log(module[0], module[-1], module[1:3], [name for name, _ in module.named_parameters()])
    for call in (
        lambda: module.extend(3), lambda: module.extend(lib.ones(2)), lambda: module[9],
        lambda: module(1), lambda: module.__setitem__(9, lib.ones(1)),
    ):  # fmt: skip
        log.tries(call)
    log(list(module), "0" in dir(module))


def parameter_dict(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = nn.ParameterDict({"b": nn.Parameter(lib.ones(2)), "a": lib.zeros(1, 2), "t": "text"})
    log(module, list(module), len(module), [type(each).__name__ for each in module.values()])
    module["c"] = lib.ones(1)
    log(module.setdefault("c", 3), module.setdefault("d", lib.ones(2)), module.get("z", 9))
    log(module.pop("a"), module.popitem(), list(module), list(reversed(module)), "b" in module)
    other = nn.ParameterDict([("x", lib.ones(1)), ("b", lib.zeros(1))])
    log(module | other, other | module, module.copy(), module.fromkeys(["k"], 1))
    module |= other
    module.update(OrderedDict(z=lib.ones(1), y=lib.ones(1)))
    log(module, list(module.keys()), [name for name, _ in module.items()])
    for call in (
        lambda: module["no"], lambda: module(1), lambda: module.update([3]),
        lambda: module.update([(1, 2, 3)]), lambda: module.pop("no"),
    ):  # fmt: skip
        log.tries(call)
    with pytest.raises(TypeError, match="as it is not a string"):
        module[3]
    module.clear()
    log(len(module), list(module.state_dict()))


def container(lib: Any, log: Log) -> None:
    log(lib.nn.Container(a=lib.nn.Identity(), b=None))


SCENARIOS = [container, sequential, module_list, module_dict, parameter_list, parameter_dict]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_both_say_the_same(scenario: Any) -> None:
    ours, theirs = transcript(thunk, scenario), transcript(torch, scenario)
    assert ours == theirs
