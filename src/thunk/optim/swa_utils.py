"""Averages of a model's parameters over training, and the learning rate that goes with them.

Invariant: how many models an average holds is read from its buffer once after it was loaded, never
in a step of training.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thunk.autograd.modes import no_grad
from thunk.nn.modules.batchnorm import _BatchNorm
from thunk.nn.modules.module import Module
from thunk.optim.lr_scheduler.base import LRScheduler, one_a_group
from thunk.optim.optimizer import Optimizer
from thunk.tensor.creation import tensor
from thunk.types.dtype import int64

AverageOne = Callable[[Any, Any, Any], Any]
AverageMany = Callable[[Sequence[Any], Sequence[Any], Any], None]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"get_ema_avg_fn: expected a decay in [0, 1], got {decay}")


def get_ema_avg_fn(decay: float = 0.999) -> AverageOne:
    """The exponential moving average of one parameter."""
    _check_decay(decay)

    def average(averaged: Any, current: Any, count: Any) -> Any:
        with no_grad():
            return decay * averaged + (1 - decay) * current

    return average


def get_swa_avg_fn() -> AverageOne:
    """The mean of one parameter over all models so far."""

    def average(averaged: Any, current: Any, count: Any) -> Any:
        with no_grad():
            return averaged + (current - averaged) / (count + 1)

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageMany:
    """The exponential moving average of many parameters, in place."""
    _check_decay(decay)

    def average(averaged: Sequence[Any], current: Sequence[Any], count: Any) -> None:
        with no_grad():
            for old, new in zip(averaged, current, strict=True):
                if old.dtype.is_inexact:
                    old.lerp_(new, 1 - decay)
                else:
                    old.copy_(old * decay + new * (1 - decay))

    return average


def get_swa_multi_avg_fn() -> AverageMany:
    """The mean of many parameters over all models so far, in place."""

    def average(averaged: Sequence[Any], current: Sequence[Any], count: Any) -> None:
        with no_grad():
            for old, new in zip(averaged, current, strict=True):
                if old.dtype.is_inexact:
                    weight = 1 / (count + 1)
                    old.add_((new - old) * weight)
                else:
                    old.add_(((new - old) / (count + 1)).to(old.dtype))

    return average


class AveragedModel(Module):
    """A copy of a model that holds the average of its parameters."""

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AverageOne | None = None,
        multi_avg_fn: AverageMany | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError(
                "AveragedModel: expected avg_fn or multi_avg_fn, got both; only one can be used"
            )
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers
        self._known: tuple[Any, int, int] = (self.n_averaged, self.n_averaged._version, 0)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` into the average."""
        averaged = [each.detach() for each in self._averaged_of(self.module)]
        pairs = zip(averaged, self._averaged_of(model), strict=True)
        current = [new.detach().to(old.device) for old, new in pairs]
        count = self._count()
        if count == 0:
            for old, new in zip(averaged, current, strict=True):
                old.copy_(new)
        elif self.multi_avg_fn is not None:
            for olds, news in _alike(averaged, current):
                self.multi_avg_fn(olds, news, self.n_averaged.to(olds[0].device))
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for old, new in zip(averaged, current, strict=True):
                old.copy_(average(old, new, self.n_averaged.to(old.device)))
        if not self.use_buffers:
            for old, new in zip(self.module.buffers(), model.buffers(), strict=True):
                old.detach().copy_(new.detach().to(old.device))
        self.n_averaged += 1
        self._known = (self.n_averaged, self.n_averaged._version, count + 1)

    def _averaged_of(self, model: Module) -> Iterable[Any]:
        buffers = model.buffers() if self.use_buffers else ()
        return itertools.chain(model.parameters(), buffers)

    def _count(self) -> int:
        """How many models are in the average."""
        buffer, version, count = self._known
        if buffer is not self.n_averaged or version != self.n_averaged._version:
            return int(self.n_averaged.item())
        return count


def _alike(old: Sequence[Any], new: Sequence[Any]) -> Iterable[tuple[list[Any], list[Any]]]:
    """Pairs of lists that share device and dtype."""
    groups: defaultdict[Any, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for one, other in zip(old, new, strict=True):
        olds, news = groups[str(one.device), one.dtype]
        olds.append(one)
        news.append(other)
    return groups.values()


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the statistics of all batch norms of `model` afresh, over `loader`."""
    norms: list[Any] = [each for each in model.modules() if isinstance(each, _BatchNorm)]
    if not norms:
        return
    momenta = [each.momentum for each in norms]
    was_training = model.training
    model.train()
    for each in norms:
        each.reset_running_stats()
        each.momentum = None
    with no_grad():
        for batch in loader:
            inputs: Any = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(inputs if device is None else inputs.to(device))
    for each, momentum in zip(norms, momenta, strict=True):
        each.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Moves the learning rate of each group to `swa_lr` in `anneal_epochs`, and keeps it there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = one_a_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"SWALR: anneal_strategy must be one of 'cos' or 'linear', got {anneal_strategy!r}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR: expected anneal_epochs of at least 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates for the next step, from those of the last one."""
        self._warn_outside_of_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            first = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + first * (1 - now))
        return rates

    def anneal_func(self, share: float) -> float:
        """How far the rate has moved after a share of the epochs."""
        return share if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * share)) / 2

    def _share(self, step: int) -> float:
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))
