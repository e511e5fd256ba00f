"""Enters: an optimizer. Leaves: `LRScheduler`, what every schedule of learning rates is made from.

Invariant: a schedule writes `lr` of the optimizer's groups and nothing else; a learning rate that
is a tensor is filled in place, so that whoever holds it sees the new one.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from thunk.optim.numbers import number
from thunk.optim.optimizer import Optimizer
from thunk.types.tensor_base import TensorBase

_ORDER = (
    "LRScheduler.step: expected `optimizer.step()` before `lr_scheduler.step()`, got the opposite "
    "order; the first value of the schedule is skipped otherwise"
)
_OVERRIDDEN = (
    "LRScheduler.step: `optimizer.step()` has been overridden after the scheduler was made; make "
    "sure that it is called before `lr_scheduler.step()`"
)
_EPOCH = (
    "LRScheduler.step: expected no epoch, which is deprecated; call `step()` once an epoch instead"
)
_GET_LR = "LRScheduler.get_lr: to get the last learning rate, please use `get_last_lr()`"


def check_optimizer(optimizer: Any) -> None:
    """Schedules belong to optimizers."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"LRScheduler: expected an Optimizer, got {type(optimizer).__name__}, "
                        "which is not an Optimizer")  # fmt: skip


def warn_of_epoch(stacklevel: int = 3) -> None:
    """Say that a given epoch is deprecated."""
    warnings.warn(_EPOCH, UserWarning, stacklevel=stacklevel)


def values_of(optimizer: Optimizer, option: str) -> list[Any]:
    """The option in every group; copies of tensors."""
    return [copied(group[option]) for group in optimizer.param_groups]


def copied(value: Any) -> Any:
    """`value`, or a copy if it is a tensor that will be written."""
    if isinstance(value, TensorBase):
        tensor: Any = value
        return tensor.clone()
    return value


def write(group: dict[str, Any], option: str, value: Any) -> None:
    """Set an option of a group; a tensor stays and gets the value."""
    if isinstance(group[option], TensorBase):
        group[option].fill_(number(value))
    else:
        group[option] = value


def one_a_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """The values of a list, one for each group, or one value for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups: expected {count} values, "
            f"got {len(value)}"
        )
    return [copied(each) for each in value]


class LRScheduler:
    """Changes the learning rates of an optimizer from epoch to epoch.

    Subclasses write `get_lr`, which returns the rates for `last_epoch`, one a group.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming "
                    "scheduler with last_epoch >= 0: load the optimizer's state first, or leave "
                    "last_epoch at -1"
                )
        self.base_lrs: list[Any] = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates as last written."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass to define get_lr")

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, after the optimizer's steps of this one."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_ORDER, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warn_of_epoch()
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._computing():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._write(rates)

    def _write(self, rates: Sequence[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            write(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    @contextmanager
    def _computing(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_of_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(_GET_LR, UserWarning, stacklevel=3)

    def _rates(self) -> list[Any]:
        """The rates as they are."""
        return values_of(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[Any]:
        """The rates as they are, times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """The name that `LRScheduler` had in older versions."""


def _watch(optimizer: Any) -> None:
    """Let the optimizer remember whether it has made a step."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    reference = weakref.ref(optimizer)
    function = optimizer.step.__func__

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        owner = reference()
        assert owner is not None
        owner._opt_called = True
        return function(owner, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step


def state_of_function(function: Callable[..., Any] | None) -> dict[str, Any] | None:
    """What a state dict keeps of a callable object; plain functions have to be given again."""
    if function is None or isinstance(function, FunctionType):
        return None
    return function.__dict__.copy()
