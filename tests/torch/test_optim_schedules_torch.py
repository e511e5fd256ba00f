"""Every schedule of learning rates: fifty epochs, state and warnings as torch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import thunk

EPOCHS = 50


class Wave:
    """A factor with a state of its own."""

    def __init__(self) -> None:
        self.period = 7

    def __call__(self, epoch: int) -> float:
        return 1.0 / (1 + epoch % self.period)


def halve_late(epoch: int) -> float:
    return 0.5 if epoch > 20 else 1.0


def shifted(x: float) -> float:
    return 0.5 + 1.0 / (1 + x)


def _sequence(s: Any, optimizer: Any) -> Any:
    parts = [
        s.LinearLR(optimizer, start_factor=0.1, total_iters=8),
        s.StepLR(optimizer, 5, gamma=0.5),
        s.CosineAnnealingLR(optimizer, T_max=10),
    ]
    return s.SequentialLR(optimizer, parts, milestones=[8, 30])


def _chain(s: Any, optimizer: Any) -> Any:
    parts = [s.ConstantLR(optimizer, factor=0.1, total_iters=4), s.ExponentialLR(optimizer, 0.9)]
    return s.ChainedScheduler(parts, optimizer=optimizer)


SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "lambda": lambda s, o: s.LambdaLR(o, [Wave(), halve_late]),
    "lambda for all": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95),
    "step": lambda s, o: s.StepLR(o, 7, gamma=0.3),
    "milestones": lambda s, o: s.MultiStepLR(o, [30, 5, 5, 12], gamma=0.2),
    "constant": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=9),
    "linear": lambda s, o: s.LinearLR(o, start_factor=0.2, end_factor=0.7, total_iters=13),
    "exponential": lambda s, o: s.ExponentialLR(o, gamma=0.93),
    "polynomial": lambda s, o: s.PolynomialLR(o, total_iters=40, power=1.7),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, T_max=12, eta_min=1e-3),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=5, T_mult=2, eta_min=1e-4),
    "even restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=6),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.3], step_size_up=5, step_size_down=9),
    "cyclic halving": lambda s, o: s.CyclicLR(
        o, [0.01, 0.02], 0.1, step_size_up=6, mode="triangular2", base_momentum=0.7
    ),
    "cyclic power": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, step_size_up=4, mode="exp_range", gamma=0.98, cycle_momentum=False
    ),
    "cyclic custom": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=4, scale_fn=shifted),
    "one cycle": lambda s, o: s.OneCycleLR(o, max_lr=[0.3, 0.1], total_steps=EPOCHS + 1),
    "one cycle in three": lambda s, o: s.OneCycleLR(
        o, 0.3, epochs=6, steps_per_epoch=9, three_phase=True, anneal_strategy="linear",
        pct_start=0.25, div_factor=10.0, base_momentum=[0.6, 0.7],
    ),
    "sequence": _sequence,
    "chain": _chain,
}  # fmt: skip


def make_optimizer(library: Any, name: str = "SGD", tensor: bool = False, **options: Any) -> Any:
    params = [library.ones(2, requires_grad=True) for _ in range(2)]
    rates = [library.tensor(0.1), library.tensor(0.4)] if tensor else [0.1, 0.4]
    groups = [{"params": [each], "lr": rate} for each, rate in zip(params, rates, strict=True)]
    return getattr(library.optim, name)(groups, **options)


def options_after_each_epoch(
    library: Any, make: Callable[[Any, Any], Any], optimizer: Any, epochs: int
) -> tuple[Any, list[Any]]:
    scheduler = make(library.optim.lr_scheduler, optimizer)
    seen = [snapshot(optimizer, scheduler)]
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
        seen.append(snapshot(optimizer, scheduler))
    return scheduler, seen


def snapshot(optimizer: Any, scheduler: Any) -> Any:
    groups = [
        {name: group.get(name) for name in ("lr", "initial_lr", "momentum", "betas", "max_lr")}
        for group in optimizer.param_groups
    ]
    return groups, list(scheduler.get_last_lr())


@pytest.mark.parametrize("name", list(SCHEDULES))
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_rates_are_torchs_to_the_bit(name: str, optimizer: str) -> None:
    options = {"momentum": 0.9} if optimizer == "SGD" else {}
    found = [
        options_after_each_epoch(
            library, SCHEDULES[name], make_optimizer(library, optimizer, **options), EPOCHS
        )[1]
        for library in (torch, thunk)
    ]
    assert found[1] == found[0]


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_a_schedule_goes_on_from_torchs_state(name: str) -> None:
    """Twenty epochs in torch, both states loaded here, then the rest: as torch alone."""
    make = SCHEDULES[name]
    _, whole = options_after_each_epoch(torch, make, make_optimizer(torch, momentum=0.9), EPOCHS)
    theirs = make_optimizer(torch, momentum=0.9)
    first, _ = options_after_each_epoch(torch, make, theirs, 20)
    ours = make_optimizer(thunk, momentum=0.9)
    second = make(thunk.optim.lr_scheduler, ours)
    mine = make(thunk.optim.lr_scheduler, make_optimizer(thunk, momentum=0.9)).state_dict()
    saved = first.state_dict()
    assert set(mine) == set(saved)
    before = set(saved)
    second.load_state_dict(saved)
    assert set(saved) == before
    ours.load_state_dict(theirs.state_dict())
    for epoch in range(20, EPOCHS):
        ours.step()
        second.step()
        assert snapshot(ours, second) == whole[epoch + 1]


@pytest.mark.parametrize("name", ["step", "cosine", "linear", "lambda", "polynomial", "constant"])
def test_a_tensor_rate_is_filled_in_place(name: str) -> None:
    found = []
    for library in (torch, thunk):
        optimizer = make_optimizer(library, tensor=True, foreach=False)
        held = optimizer.param_groups[0]["lr"]
        _, seen = options_after_each_epoch(library, SCHEDULES[name], optimizer, 12)
        assert optimizer.param_groups[0]["lr"] is held
        found.append([[rate.item() for rate in last] for _, last in seen])
    for wanted, got in zip(*found, strict=True):
        assert got == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("name", ["step", "milestones", "constant", "linear", "exponential",
                                  "polynomial", "cosine", "restarts", "lambda"])  # fmt: skip
@pytest.mark.parametrize("epoch", [0, 3, 11, 40])
@pytest.mark.filterwarnings("ignore")
def test_a_given_epoch_takes_the_closed_form(name: str, epoch: int) -> None:
    found = []
    for library in (torch, thunk):
        optimizer = make_optimizer(library)
        scheduler = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
        optimizer.step()
        scheduler.step(epoch)
        scheduler.step()
        found.append(snapshot(optimizer, scheduler))
    assert found[1] == found[0]


@pytest.mark.parametrize(
    "options",
    [
        {"patience": 2},
        {"patience": 1, "mode": "max", "factor": 0.5, "cooldown": 3},
        {"patience": 0, "threshold": 0.2, "threshold_mode": "abs", "min_lr": [0.01, 0.05]},
        {"patience": 1, "mode": "max", "threshold": 0.3, "threshold_mode": "abs", "min_lr": 0.02},
    ],
)
def test_plateaus_lower_the_rate_as_torch_does(options: dict[str, Any]) -> None:
    measures = [5.0, 4.0, 4.1, 4.2, 3.99, 4.5, 4.5, 4.5, 1.0, 0.99, 0.98, 0.97, 0.96, 2.0, 3.0, 3.1]
    found = []
    for library in (torch, thunk):
        optimizer = make_optimizer(library)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        seen = []
        for measure in measures * 3:
            scheduler.step(library.tensor(measure))
            seen.append((snapshot(optimizer, scheduler), scheduler.state_dict()))
        found.append(seen)
    assert found[1] == found[0]


def _warnings_of(library: Any, order: str) -> list[type[Warning]]:
    optimizer = make_optimizer(library)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scheduler = library.optim.lr_scheduler.StepLR(optimizer, 2)
        for each in order.split():
            if each == "optimizer":
                optimizer.step()
            elif each == "scheduler":
                scheduler.step()
            elif each == "epoch":
                scheduler.step(3)
            elif each == "get":
                scheduler.get_lr()
            else:
                optimizer.step = lambda closure=None: None
    return [each.category for each in seen]


@pytest.mark.parametrize(
    "order, count",
    [
        ("optimizer scheduler optimizer scheduler", 0),
        ("scheduler optimizer scheduler", 1),
        ("scheduler scheduler", 1),
        ("override scheduler", 1),
        ("optimizer epoch", 1),
        ("optimizer scheduler get", 1),
    ],
)
def test_warnings_are_torchs(order: str, count: int) -> None:
    assert _warnings_of(thunk, order) == _warnings_of(torch, order) == [UserWarning] * count


BAD: dict[str, Callable[[Any, Any], Any]] = {
    "no optimizer": lambda s, o: s.StepLR(3, 1),
    "resumed without initial_lr": lambda s, o: s.StepLR(o, 1, last_epoch=3),
    "lambdas": lambda s, o: s.LambdaLR(o, [halve_late]),
    "uncallable": lambda s, o: s.MultiplicativeLR(o, 0.5),
    "constant": lambda s, o: s.ConstantLR(o, factor=2.0),
    "linear": lambda s, o: s.LinearLR(o, start_factor=0),
    "linear end": lambda s, o: s.LinearLR(o, end_factor=-1),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=2.5),
    "restarts mult": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=2, T_mult=0),
    "restarts eta": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=2, eta_min="a"),
    "restarts epoch": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=2).step(-1),
    "cyclic mode": lambda s, o: s.CyclicLR(o, 0.1, 1, mode="square"),
    "cyclic lengths": lambda s, o: s.CyclicLR(o, [0.1], 1),
    "one cycle without length": lambda s, o: s.OneCycleLR(o, 0.1, epochs=3),
    "one cycle length": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=0),
    "one cycle epochs": lambda s, o: s.OneCycleLR(o, 0.1, epochs=1.5, steps_per_epoch=3),
    "one cycle share": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=3, pct_start=2.0),
    "one cycle strategy": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=3, anneal_strategy="no"),
    "no schedulers": lambda s, o: s.SequentialLR(o, [], []),
    "milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [3]),
    "plateau inside": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "no scheduler": lambda s, o: s.ChainedScheduler([1], optimizer=o),
    "plateau factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    "plateau mode": lambda s, o: s.ReduceLROnPlateau(o, mode="up"),
    "plateau threshold": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="x"),
    "plateau limits": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1]),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_options_raise_as_in_torch(name: str) -> None:
    kinds = []
    for library in (torch, thunk):
        with pytest.raises(Exception) as caught:
            BAD[name](library.optim.lr_scheduler, make_optimizer(library, momentum=0.9))
        kinds.append(caught.type)
    assert kinds[1] is kinds[0]


def test_momentum_cannot_cycle_without_momentum() -> None:
    for library in (torch, thunk):
        optimizer = make_optimizer(library, "Adagrad")
        with pytest.raises(ValueError, match="momentum"):
            library.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0)


def test_one_cycle_ends() -> None:
    for library in (torch, thunk):
        optimizer = make_optimizer(library, "Adam")
        scheduler = library.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=3)
        for _ in range(3):
            optimizer.step()
            scheduler.step()
        with pytest.raises(ValueError, match="3"):
            scheduler.step()
