"""Corners of modules against PyTorch: mixins, odd indices and arguments, replicas."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import thunk
from transcripts import Log, transcript


def mixins(lib: Any, log: Log) -> None:
    class Mixin:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.mixed = True

    class Before(Mixin, lib.nn.Module):
        pass

    class After(lib.nn.Module, Mixin):
        pass

    log(hasattr(Before(), "mixed"), hasattr(After(), "mixed"))
    Before.call_super_init = After.call_super_init = True
    log(hasattr(Before(), "mixed"), hasattr(After(), "mixed"))
    log.tries(lambda: lib.nn.Linear(1, 1, nothing=1) and "made")


def tensor_indices(lib: Any, log: Log) -> None:
    nn, index = lib.nn, lib.tensor(1, dtype=lib.int16)
    chain = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 3), nn.Linear(3, 4))
    items = nn.ModuleList(chain)
    parameters = nn.ParameterList([lib.zeros(1), lib.ones(1)])
    log(chain[index], items[index], parameters[index], chain[::-1], items[::-1], parameters[::-1])
    chain[index] = nn.Identity()
    items[index] = nn.ReLU()
    parameters[index] = lib.full((1,), 5.0)
    log(chain, items, parameters[1])
    del chain[0::2]
    del items[index]
    log(chain, items)
    log.tries(lambda: chain[lib.tensor(1.0)])


def arguments_of_to(lib: Any, log: Log) -> None:
    module, cpu = lib.nn.Linear(2, 2), lib.device("cpu")
    for call in (
        lambda: module.to(cpu, True), lambda: module.to(lib.long), lambda: module.to(None, True),
        lambda: module.to(cpu, lib.long, True), lambda: module.to([]),
        lambda: module.to(cpu, dtype=lib.long, non_blocking=True),
        lambda: module.to({}, non_blocking=True), lambda: module.to("cpu", copy=True),
        lambda: module.to(lib.tensor(3), non_blocking=True), lambda: module.to(cpu, lib.tensor(3)),
        lambda: module.to("nowhere"), lambda: module.to(cpu, other=1),
    ):  # fmt: skip
        try:
            log(call() is module)
        except (TypeError, RuntimeError) as error:
            log(type(error).__name__)
    for call in (
        lambda: module.to(cpu, non_blocking=True), lambda: module.to(other=None) if 0 else module,
        lambda: module.to(tensor=lib.ones(1, dtype=lib.float64)), lambda: module.to(device="cpu"),
        lambda: module.to(dtype=None), lambda: module.to("cpu", lib.float32, True),
    ):  # fmt: skip
        log(call() is module, module.weight.dtype)


def replicas(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    module.own = nn.Parameter(lib.ones(1))
    replica = module._replicate_for_data_parallel()
    log(list(replica._parameters), list(replica._modules), hasattr(replica, "own"))
    log(replica[0] is module[0], replica._is_replica)
    replica.own = module.own.view_as(module.own)
    replica._modules["0"] = nn.Identity()
    log(replica.own._base is module.own, type(module[0]).__name__, list(module._parameters))
    replica.register_buffer("extra", lib.ones(1))
    log(hasattr(module, "extra"), replica(lib.ones(3, 2)).shape)
    tensors = nn.ParameterList([lib.ones(1), lib.zeros(2)])
    other = tensors._replicate_for_data_parallel()
    for name, parameter in tensors.named_parameters():
        setattr(other, name, parameter * 2)
    log([each.tolist() for each in other], [each.grad_fn is None for each in tensors])


def in_place_conversion(lib: Any, log: Log) -> None:
    def increase(tensor: Any) -> Any:
        return tensor.add_(1.0)

    module = lib.nn.Linear(2, 2)
    weight = module.weight
    squared = weight * weight
    version = weight._version
    module._apply(increase)
    log(module.weight is weight, weight._version > version, weight.is_leaf)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squared.sum().backward()
    module.weight.grad = lib.ones(2, 2)
    gradient, version = module.weight.grad, module.weight.grad._version
    module._apply(increase)
    log(module.weight.grad is gradient, gradient._version > version, gradient)
    view = module.weight[:]
    module.double()
    log(view.dtype, module.weight.dtype)
    with lib.no_grad():
        view[0][0] = 5
    log(view[0][0].item(), module.weight[0][0].item() == 5)


def own_register_buffer(lib: Any, log: Log) -> None:
    class Own(lib.nn.Linear):
        def __init__(self) -> None:
            super().__init__(2, 2)
            self.mine = lib.nn.Buffer(lib.ones(1))

        def register_buffer(self, name: str, value: Any) -> None:
            log("own", name)
            super().register_buffer(name, value, True)

    module = Own()
    module.mine = lib.zeros(1)
    log(module.mine, list(module.state_dict()))
    log.tries(lambda: setattr(module, "other", lib.nn.Buffer(lib.ones(1), persistent=False)))


def names_in_dir(lib: Any, log: Log) -> None:
    module = lib.nn.Linear(2, 2)
    module._sub, module._own = lib.nn.Identity(), lib.nn.Parameter(lib.ones(1))
    module.register_buffer("_state", lib.ones(1))
    found = dir(module)
    log({"_sub", "_own", "_state", "weight", "forward"} <= set(found))
    log(all(hasattr(module, name) for name in found), found == sorted(found))
    log(len(found) == len(set(found)) or lib is torch)


SCENARIOS = [
    mixins, tensor_indices, arguments_of_to, replicas, in_place_conversion, own_register_buffer,
    names_in_dir,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_both_say_the_same(scenario: Any) -> None:
    ours, theirs = transcript(thunk, scenario), transcript(torch, scenario)
    assert ours == theirs
