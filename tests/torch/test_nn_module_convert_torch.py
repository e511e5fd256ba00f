"""Conversions of modules against PyTorch: dtypes, places, identity of parameters and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import thunk
from transcripts import Log, transcript


def net(lib: Any) -> Any:
    module = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3))
    module.register_buffer("ids", lib.arange(3))
    module[1].weight.requires_grad_(False)
    module(lib.ones(4, 2)).sum().backward()
    return module


def facts(module: Any) -> list[Any]:
    named = [*module.named_parameters(), *module.named_buffers()]
    return [
        (name, each.dtype, str(each.device), each.requires_grad, each.is_leaf,
         None if each.grad is None else each.grad.dtype)
        for name, each in named
    ]  # fmt: skip


def dtypes(lib: Any, log: Log) -> None:
    for name in ("half", "bfloat16", "double", "float"):
        module = net(lib)
        before, gradient = module[0].weight, module[0].weight.grad
        log(name, getattr(module, name)() is module, facts(module))
        log(module[0].weight is before, module[0].weight.grad is gradient)
    module = net(lib).type(lib.float64)
    log(facts(module), module.type("torch.FloatTensor") is module, facts(module))


def to_forms(lib: Any, log: Log) -> None:
    for arguments in (
        (lib.float64,), ("cpu",), ("cpu", lib.float16), (lib.ones(1, dtype=lib.float64),),
        (lib.float64, True), (None, lib.float64), (lib.device("cpu"), None, True), (),
        (lib.int64,), ("cpu", lib.bool),
    ):  # fmt: skip
        module = net(lib)
        log.tries(lambda: facts(module.to(*arguments)))  # noqa: B023
    for keywords in (
        {"dtype": lib.float64}, {"device": "cpu"}, {"device": "meta"},
        {"dtype": lib.float16, "non_blocking": True},
    ):  # fmt: skip
        module = net(lib)
        log.tries(lambda: facts(module.to(**keywords)))  # noqa: B023
    conv = lib.nn.Conv2d(2, 3, 2).to(memory_format=lib.channels_last)
    log(conv.weight.stride(), conv.bias.stride())


def meta(lib: Any, log: Log) -> None:
    module = net(lib)
    before = module[0].weight
    module.to("meta")
    log(facts(module), module[0].weight is before, before.is_meta)
    log.tries(lambda: module.to("cpu"))
    module.to_empty(device="cpu")
    log(facts(module))
    shallow = lib.nn.Sequential(lib.nn.Linear(1, 1)).to("meta")
    shallow.to_empty(device="cpu", recurse=False)
    log(shallow[0].weight.is_meta)


def training_goes_on(lib: Any, log: Log) -> None:
    module = lib.nn.Linear(2, 1)
    with lib.no_grad():
        module.weight.fill_(0.5)
        module.bias.fill_(0.25)
    parameter = module.weight
    module(lib.ones(1, 2)).sum().backward()
    module.double()
    log(parameter.dtype, parameter.grad)
    module(lib.ones(1, 2, dtype=lib.float64)).sum().backward()
    log(parameter.grad, module.bias.grad)
    module.float().zero_grad()
    module(lib.ones(1, 2)).sum().backward()
    log(parameter.grad, parameter.grad.dtype)


def own_conversion(lib: Any, log: Log) -> None:
    class Watching(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = lib.nn.Parameter(lib.ones(2))

        def _apply(self, fn: Any, recurse: bool = True) -> Any:
            super()._apply(fn)
            log("converted")
            return self

    lib.nn.Sequential(Watching(), Watching()).double()
    module = lib.nn.Linear(2, 2)
    log(module._apply(lambda each: each * 2) is module, module.weight.is_leaf)
    shared = lib.nn.Sequential(module, module)
    shared.share_memory()
    log(module.weight.is_shared())


def parameters_themselves(lib: Any, log: Log) -> None:
    nn = lib.nn
    data = lib.ones(2)
    parameter = nn.Parameter(data)
    log(parameter, parameter.is_leaf, type(parameter * 2).__name__, type(parameter.data).__name__)
    data.fill_(3.0)
    log(parameter, nn.Parameter(parameter) is parameter, nn.Parameter(parameter.detach()))
    with pytest.raises(RuntimeError, match="nly Tensors of floating point"):
        nn.Parameter(lib.ones(2, dtype=lib.int64))
    log(nn.Parameter(lib.ones(2, dtype=lib.int64), requires_grad=False))
    with lib.no_grad():
        log(nn.Parameter(lib.ones(1)).requires_grad)
    log(nn.Parameter(parameter * 2).is_leaf, isinstance(parameter, lib.Tensor))
    buffer = nn.Buffer(lib.ones(2))
    log(buffer, type(buffer).__name__, isinstance(buffer, nn.Buffer), buffer.persistent)
    log(isinstance(lib.ones(1), nn.Buffer), isinstance(lib.ones(1), nn.Parameter))

    class Special(nn.Parameter):
        pass

    special = Special(lib.ones(2))
    log(special, type(special).__name__, isinstance(special, nn.Parameter))

    class Own(lib.Tensor):
        pass

    own = nn.Parameter(lib.ones(2).as_subclass(Own))
    log(type(own).__name__, isinstance(own, nn.Parameter), own.requires_grad, own.is_leaf)
    module = nn.Linear(2, 2)
    module.bias = own
    log(module.bias is own, [name for name, _ in module.named_parameters()])
    marked = lib.ones(2)
    marked._is_param = True
    log(isinstance(marked, nn.Parameter), isinstance(marked, Special))


SCENARIOS = [
    dtypes, to_forms, meta, training_goes_on, own_conversion, parameters_themselves,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_both_say_the_same(scenario: Any) -> None:
    ours, theirs = transcript(thunk, scenario), transcript(torch, scenario)
    assert ours == theirs
