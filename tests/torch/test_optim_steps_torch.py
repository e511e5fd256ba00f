"""Every optimizer over its options: steps from the same weights end where torch's do."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest
import torch
from tests.torch.optim_pairs import Side, assert_same, pair, translated

import thunk

GRIDS: dict[str, dict[str, list[Any]]] = {
    "SGD": {
        "lr": [0.01], "momentum": [0, 0.9], "dampening": [0, 0.3], "weight_decay": [0, 0.1],
        "nesterov": [False, True],
    },
    "Adam": {
        "lr": [0.05], "betas": [(0.9, 0.999), (0.3, 0.5), (0.0, 0.0)], "weight_decay": [0, 0.1],
        "amsgrad": [False, True], "decoupled_weight_decay": [False, True],
    },
    "AdamW": {"lr": [0.05], "weight_decay": [0.01, 0], "amsgrad": [False, True]},
    "Adamax": {"lr": [0.05], "betas": [(0.9, 0.999), (0.4, 0.6)], "weight_decay": [0, 0.1]},
    "NAdam": {
        "lr": [0.05], "weight_decay": [0, 0.1], "momentum_decay": [4e-3, 0.1],
        "decoupled_weight_decay": [False, True],
    },
    "RAdam": {
        "lr": [0.05], "betas": [(0.9, 0.999), (0.9, 0.8)], "weight_decay": [0, 0.1],
        "decoupled_weight_decay": [False, True],
    },
    "Adagrad": {
        "lr": [0.1], "lr_decay": [0, 0.1], "weight_decay": [0, 0.1],
        "initial_accumulator_value": [0, 0.5],
    },
    "Adadelta": {"lr": [1.0, 0.1], "rho": [0.9, 0.5], "weight_decay": [0, 0.1]},
    "RMSprop": {
        "lr": [0.01], "alpha": [0.99, 0.3], "weight_decay": [0, 0.1], "momentum": [0, 0.9],
        "centered": [False, True],
    },
    "Rprop": {
        "lr": [0.01], "etas": [(0.5, 1.2), (0.7, 1.5)], "step_sizes": [(1e-6, 50), (1e-3, 0.1)],
    },
    "ASGD": {
        "lr": [0.02], "lambd": [1e-4, 0.1], "alpha": [0.75, 0.5], "t0": [1e6, 4],
        "weight_decay": [0, 0.1],
    },
}  # fmt: skip
LIMITS = {"float32": (2e-6, 1e-6), "float64": (1e-12, 1e-13), "complex64": (4e-6, 2e-6)}


def options_of(name: str) -> list[dict[str, Any]]:
    grid = GRIDS[name]
    found = [dict(zip(grid, each, strict=True)) for each in itertools.product(*grid.values())]
    valid = [each for each in found if not _refused(each)]
    return [*valid, {**valid[0], "maximize": True}, {**valid[-1], "foreach": False}]


def _refused(options: dict[str, Any]) -> bool:
    return options.get("nesterov", False) and (options["momentum"] == 0 or options["dampening"] > 0)


SINGLE = [(name, options, "float32") for name in GRIDS for options in options_of(name)]
DOUBLE = [(name, options, "float64") for name in GRIDS for options in options_of(name)[::3]]


def case_id(value: Any) -> str:
    return value if isinstance(value, str) else "-".join(f"{k}={v}" for k, v in value.items())


@pytest.mark.parametrize("name, options, dtype", SINGLE + DOUBLE, ids=case_id)
def test_steps_end_where_torchs_do(name: str, options: dict[str, Any], dtype: str) -> None:
    def make(optim: Any, params: list[Any]) -> Any:
        return getattr(optim, name)(params, **options)

    theirs, ours = pair(make, dtype)
    steps = 20 if options == options_of(name)[0] else 8
    theirs.run(steps)
    ours.run(steps)
    assert_same(theirs, ours, *LIMITS[dtype])
    assert_same_state(theirs.optimizer.state_dict(), ours.optimizer.state_dict(), *LIMITS[dtype])


def assert_same_state(wanted: Any, found: Any, rtol: float, atol: float) -> None:
    """Keys, types, dtypes and values of two state dicts."""
    assert type(found) is type(wanted) or isinstance(wanted, torch.Tensor)
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key, value in wanted.items():
            assert_same_state(value, found[key], rtol, atol)
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for one, other in zip(wanted, found, strict=True):
            assert_same_state(one, other, rtol, atol)
    elif isinstance(wanted, torch.Tensor):
        assert str(found.dtype) == str(wanted.dtype)
        assert tuple(found.shape) == tuple(wanted.shape)
        numpy.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=rtol * 20, atol=atol)
    else:
        assert found == wanted


@pytest.mark.parametrize("name", list(GRIDS))
def test_complex_parameters_step_as_torchs(name: str) -> None:
    def make(optim: Any, params: list[Any]) -> Any:
        return getattr(optim, name)(params, lr=0.01)

    theirs, ours = pair(make, "complex64")
    theirs.run(6)
    ours.run(6)
    assert_same(theirs, ours, *LIMITS["complex64"])


@pytest.mark.parametrize("name", list(GRIDS))
@pytest.mark.parametrize("direction", ["to thunk", "to torch"])
def test_a_run_goes_on_in_the_other_library(name: str, direction: str) -> None:
    """Ten steps in one, state and weights handed over, ten in the other: as twenty in torch."""
    options = options_of(name)[-1]

    def make(optim: Any, params: list[Any]) -> Any:
        return getattr(optim, name)(params, **options)

    theirs, ours = pair(make, "float32")
    first, second = (theirs, ours) if direction == "to thunk" else (ours, theirs)
    first.run(10)
    with second.library.no_grad():
        for param, value in zip(second.params, first.arrays(), strict=True):
            param.copy_(second.tensor(value))
    second.optimizer.load_state_dict(translated(first.optimizer.state_dict(), second.library))
    second.steps = first.steps
    second.run(10)
    whole, _ = pair(make, "float32")
    whole.run(10)
    whole.run(10)
    for wanted, found in zip(whole.arrays(), second.arrays(), strict=True):
        numpy.testing.assert_allclose(found, wanted, rtol=4e-6, atol=2e-6)


@pytest.mark.parametrize("name", [each for each in GRIDS if each != "Rprop"])
def test_a_tensor_for_a_learning_rate(name: str) -> None:
    def side(library: Any) -> Side:
        def make(optim: Any, params: list[Any]) -> Any:
            return getattr(optim, name)(params, lr=library.tensor(0.03), foreach=False)

        return Side(library, make, "float64")

    theirs, ours = side(torch), side(thunk)
    for _ in range(3):
        theirs.run(3)
        ours.run(3)
        for each in (theirs, ours):
            each.optimizer.param_groups[0]["lr"].mul_(0.5)
    assert_same(theirs, ours, 1e-6, 1e-7)
