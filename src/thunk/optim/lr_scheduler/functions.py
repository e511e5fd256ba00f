"""Schedules whose factors a function of the epoch computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thunk.optim.lr_scheduler.base import LRScheduler, state_of_function
from thunk.optim.optimizer import Optimizer

Factor = Callable[[int], float]


class _ByFunctions(LRScheduler):
    """A schedule with a function for each group."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1
    ) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            self.lr_lambdas: list[Any] = [lr_lambda] * count
        elif len(lr_lambda) == count:
            self.lr_lambdas = list(lr_lambda)
        else:
            raise ValueError(
                f"{type(self).__name__}: expected {count} lr_lambdas, got {len(lr_lambda)}"
            )
        for each in self.lr_lambdas:
            if not callable(each):
                raise TypeError(f"{type(self).__name__}: lr_lambda should be a function, got "
                                f"{type(each).__name__}")  # fmt: skip
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and plain functions; of callable objects, their state."""
        state = super().state_dict()
        del state["lr_lambdas"]
        return {**state, "lr_lambdas": [state_of_function(each) for each in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; functions stay as they are."""
        functions = state_dict["lr_lambdas"]
        rest = {name: value for name, value in state_dict.items() if name != "lr_lambdas"}
        super().load_state_dict(rest)
        for own, state in zip(self.lr_lambdas, functions, strict=True):
            if state is not None:
                own.__dict__.update(state)


class LambdaLR(_ByFunctions):
    """The first rate times a function of the epoch."""

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`."""
        self._warn_outside_of_step()
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [rate * function(self.last_epoch) for function, rate in pairs]


class MultiplicativeLR(_ByFunctions):
    """The last rate times a function of the epoch."""

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`."""
        self._warn_outside_of_step()
        if self._is_initial:
            return self._rates()
        pairs = zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        return [group["lr"] * function(self.last_epoch) for function, group in pairs]
