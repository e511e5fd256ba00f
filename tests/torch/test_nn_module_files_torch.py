"""Whole modules in files between PyTorch and Thunk: containers, hooks, lazy modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import thunk

WAYS = [(torch, thunk), (thunk, torch), (thunk, thunk)]
NAMES = ["to Thunk", "to PyTorch", "within Thunk"]


def doubled(module: Any, args: Any, output: Any) -> Any:
    return output * 2


def widened(module: Any, args: Any, kwargs: Any) -> Any:
    return (args[0] + 1,), kwargs


def moved(module: Any, tmp_path: Path, way: tuple[Any, Any]) -> Any:
    source, target = way
    source.save(module, tmp_path / "module.pt")
    return target.load(tmp_path / "module.pt", weights_only=False)


def values(lib: Any, result: Any) -> list[Any]:
    return [round(each, 4) for each in result.flatten().tolist()]


@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_containers_and_their_members(way: Any, tmp_path: Path) -> None:
    source, target = way
    nn = source.nn
    module = nn.ModuleDict({
        "list": nn.ModuleList([nn.Linear(2, 3), nn.BatchNorm1d(3)]),
        "tensors": nn.ParameterList([source.ones(2), source.zeros(1)]),
        "named": nn.ParameterDict({"a": source.ones(3)}),
        "chain": nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Dropout(0.3)),
    })  # fmt: skip
    module["list"][1].eval()
    module["list"][0].weight.requires_grad_(False)
    found = moved(module, tmp_path, way)
    assert repr(found) == repr(module)
    expected = {key: value.tolist() for key, value in module.state_dict().items()}
    assert {key: value.tolist() for key, value in found.state_dict().items()} == expected
    assert found["list"][1].training is False
    assert found["list"][0].weight.requires_grad is False
    assert isinstance(found["list"][0].weight, target.nn.Parameter)


@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_hooks_come_along_and_can_be_removed(way: Any, tmp_path: Path) -> None:
    source, target = way
    module = source.nn.Linear(2, 2)
    module.handle = module.register_forward_hook(doubled)
    module.other = module.register_forward_pre_hook(widened, with_kwargs=True)
    found = moved(module, tmp_path, way)
    x = target.ones(1, 2)
    plain = target.nn.functional.linear(x, found.weight, found.bias)
    moved_on = target.nn.functional.linear(x + 1, found.weight, found.bias)
    assert values(target, found(x)) == values(target, moved_on * 2)
    found.register_forward_hook(doubled)
    assert values(target, found(x)) == values(target, moved_on * 4)
    found.handle.remove()
    assert values(target, found(x)) == values(target, moved_on * 2)
    found.other.remove()
    found._forward_hooks.clear()
    assert values(target, found(x)) == values(target, plain)


@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_lazy_modules_stay_lazy(way: Any, tmp_path: Path) -> None:
    source, target = way
    nn = source.nn
    module = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyLinear(1))
    found = moved(module, tmp_path, way)
    assert repr(found) == repr(module)
    parameters = list(found.parameters())
    assert found(target.ones(3, 5)).shape == (3, 1)
    assert all(old is new for old, new in zip(parameters, found.parameters(), strict=True))
    assert [type(each).__name__ for each in found] == ["Linear", "BatchNorm1d", "Linear"]
    assert not found[0]._forward_pre_hooks
    assert not hasattr(found[0], "_load_hook")
