"""Parametrised modules: copies that can be taken apart, caching, and what stays untouched."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import thunk
from thunk import nn
from thunk.nn.utils import parametrizations, parametrize


class Counted(nn.Module):
    """Doubles a tensor and counts how often."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def forward(self, x: Any) -> Any:
        self.times += 1
        return x * 2


def test_a_copy_can_be_taken_apart_without_the_original() -> None:
    module = parametrizations.weight_norm(nn.Linear(3, 4))
    twin = copy.deepcopy(module)
    x = thunk.ones(1, 3)
    expected = module(x)
    parametrize.remove_parametrizations(module, "weight")
    assert type(module) is nn.Linear
    assert parametrize.is_parametrized(twin, "weight")
    assert thunk.equal(twin(x), expected)
    assert twin.parametrizations.weight.original0 is not None
    parametrize.remove_parametrizations(twin, "weight")
    assert type(twin) is nn.Linear
    assert twin.weight is twin._parameters["weight"]
    assert twin.weight is twin.__dict__["weight"]


def test_a_parametrised_module_is_not_pickled() -> None:
    module = parametrizations.weight_norm(nn.Linear(3, 4))
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(module)


def test_the_tensor_is_computed_once_inside_cached() -> None:
    module, counted = nn.Linear(2, 2), Counted()
    parametrize.register_parametrization(module, "weight", counted, unsafe=True)
    before = counted.times
    with parametrize.cached():
        module(thunk.ones(1, 2))
        with parametrize.cached():
            module(thunk.ones(1, 2))
        module(thunk.ones(1, 2))
    assert counted.times == before + 1
    module(thunk.ones(1, 2))
    assert counted.times == before + 2


def test_an_optimizer_keeps_its_parameter() -> None:
    module = nn.Linear(2, 2)
    weight = module.weight
    parametrize.register_parametrization(module, "weight", Counted())
    assert dict(module.named_parameters())["parametrizations.weight.original"] is weight
    parametrize.remove_parametrizations(module, "weight")
    assert module.weight is weight


def test_old_weight_norm_leaves_no_member_behind() -> None:
    module = nn.Linear(3, 2)
    with pytest.warns(FutureWarning, match="deprecated"):
        nn.utils.weight_norm(module)
    assert "weight" not in module._parameters
    assert list(module.state_dict()) == ["bias", "weight_g", "weight_v"]
    module(thunk.ones(1, 3)).sum().backward()
    assert module.weight_g.grad is not None
    nn.utils.remove_weight_norm(module)
    assert list(module.state_dict()) == ["bias", "weight"]
    assert module.__dict__["weight"] is module._parameters["weight"]
    assert not hasattr(module, "weight_g")


def test_functional_call_restores_after_a_failure() -> None:
    module = nn.Linear(2, 2)
    weight = module.weight
    with pytest.raises(RuntimeError):
        thunk.func.functional_call(module, {"weight": thunk.ones(2, 5)}, thunk.ones(1, 2))
    assert module.weight is weight
    with pytest.raises(AttributeError):
        thunk.func.functional_call(module, {"weight": weight, "no.such": weight}, thunk.ones(1, 2))
    assert module.weight is weight
    assert [name for name, _ in module.named_parameters()] == ["weight", "bias"]
