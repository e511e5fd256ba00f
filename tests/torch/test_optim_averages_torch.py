"""Averaged models, their batch norms and their learning rate, as torch's."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import thunk


def network(library: Any) -> Any:
    """Two layers and a batch norm with the same weights in both libraries."""
    nn = library.nn
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    generator = numpy.random.default_rng(5)
    with library.no_grad():
        for param in model.parameters():
            values = generator.standard_normal(tuple(param.shape)).astype("float32")
            param.copy_(library.from_numpy(values))
    return model


def move(library: Any, model: Any, by: float) -> None:
    with library.no_grad():
        for number, param in enumerate(model.parameters()):
            param.add_(by / (number + 1))
        for buffer in model.buffers():
            buffer.add_(1)


def rounded(values: Any) -> Any:
    return {name: value.numpy().round(5).tolist() for name, value in values.items()}


AVERAGES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "mean": lambda u: {},
    "mean of one": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "mean of many": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "moving": lambda u: {"avg_fn": u.get_ema_avg_fn(0.7)},
    "moving of many": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.7)},
    "with buffers": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.3), "use_buffers": True},
    "own": lambda u: {"avg_fn": lambda old, new, count: old + (new - old) * 2 / (count + 2)},
}


@pytest.mark.parametrize("name", list(AVERAGES))
def test_averages_are_torchs(name: str) -> None:
    found = []
    for library in (torch, thunk):
        utils = library.optim.swa_utils
        model = network(library)
        averaged = utils.AveragedModel(model, **AVERAGES[name](utils))
        for by in (0.5, -1.0, 2.0, 0.25):
            move(library, model, by)
            averaged.update_parameters(model)
        found.append(rounded(averaged.state_dict()))
    assert found[1] == found[0]


def test_an_average_goes_on_from_a_loaded_one() -> None:
    utils = thunk.optim.swa_utils
    model = network(thunk)
    whole, half = utils.AveragedModel(model), utils.AveragedModel(model)
    for by in (0.5, -1.0):
        move(thunk, model, by)
        for each in (whole, half):
            each.update_parameters(model)
    fresh = utils.AveragedModel(network(thunk))
    fresh.load_state_dict(half.state_dict())
    copied = copy.deepcopy(half)
    move(thunk, model, 3.0)
    for each in (whole, fresh, copied):
        each.update_parameters(model)
    wanted = rounded(whole.state_dict())
    assert rounded(fresh.state_dict()) == rounded(copied.state_dict()) == wanted
    assert whole.n_averaged.item() == 3


def test_an_average_waits_for_no_value() -> None:
    utils = thunk.optim.swa_utils
    model = network(thunk)
    averaged = utils.AveragedModel(model)
    waited: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("item", "__bool__", "__int__", "__float__"):
            patch.setattr(thunk.Tensor, name, lambda self, name=name: waited.append(name) or 0)
        for _ in range(3):
            averaged.update_parameters(model)
    assert waited == []


def test_an_averaged_model_computes_and_trains_apart() -> None:
    model = network(thunk)
    averaged = thunk.optim.swa_utils.AveragedModel(model)
    inputs = thunk.ones(5, 3)
    assert thunk.equal(averaged(inputs), model(inputs))
    with pytest.raises(AssertionError, match="only one"):
        thunk.optim.swa_utils.AveragedModel(model, avg_fn=max, multi_avg_fn=max)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        thunk.optim.swa_utils.get_ema_avg_fn(1.5)


@pytest.mark.parametrize("wrapped", [True, False])
def test_batch_norms_are_measured_afresh(wrapped: bool) -> None:
    found = []
    for library in (torch, thunk):
        generator = numpy.random.default_rng(2)
        batches = [
            library.from_numpy(generator.standard_normal((6, 3)).astype("float32"))
            for _ in range(4)
        ]
        loader = [(each, 1) for each in batches] if wrapped else batches
        model = network(library).eval()
        library.optim.swa_utils.update_bn(loader, model)
        assert not model.training
        assert model[1].momentum == 0.1
        found.append(rounded(model.state_dict()))
        plain = library.nn.Linear(3, 2)
        library.optim.swa_utils.update_bn(loader, plain)
    assert found[1] == found[0]


@pytest.mark.parametrize(
    "options",
    [
        {"swa_lr": 0.05},
        {"swa_lr": [0.05, 0.5], "anneal_epochs": 5, "anneal_strategy": "linear"},
        {"swa_lr": 0.05, "anneal_epochs": 0},
    ],
)
def test_the_rate_moves_to_its_goal_as_torchs(options: dict[str, Any]) -> None:
    found = []
    for library in (torch, thunk):
        params = [library.ones(1, requires_grad=True) for _ in range(2)]
        optimizer = library.optim.SGD([{"params": [each]} for each in params], lr=0.2)
        optimizer.param_groups[1]["lr"] = 0.4
        schedule = library.optim.swa_utils.SWALR(optimizer, **options)
        rates = []
        for _ in range(15):
            optimizer.step()
            schedule.step()
            rates.append([group["lr"] for group in optimizer.param_groups])
        other = library.optim.swa_utils.SWALR(optimizer, **options)
        other.load_state_dict(schedule.state_dict())
        optimizer.step()
        other.step()
        rates.append(other.get_last_lr())
        found.append((rates, set(schedule.state_dict())))
    assert found[1] == found[0]
    assert not math.isclose(found[1][0][0][0], 0.2)


def test_bad_options_of_the_rate_are_refused() -> None:
    for library in (torch, thunk):
        optimizer = library.optim.SGD([library.ones(1, requires_grad=True)])
        for options in ({"anneal_strategy": "no"}, {"anneal_epochs": -1}, {"swa_lr": [1, 2]}):
            with pytest.raises(ValueError):
                library.optim.swa_utils.SWALR(optimizer, **{"swa_lr": 0.1, **options})
