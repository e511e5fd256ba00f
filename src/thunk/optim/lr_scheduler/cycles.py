"""Schedules that raise the learning rate and lower it again, momentum the other way round."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from thunk.optim.lr_scheduler.base import (
    LRScheduler,
    check_optimizer,
    one_a_group,
    state_of_function,
    write,
)
from thunk.optim.optimizer import Optimizer


class _Cycle(LRScheduler):
    """A schedule that may move momentum against the learning rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _start_momentum(self, base: Any, highest: Any, last_epoch: int) -> tuple[Any, Any]:
        """Momentum at its highest in every group, for a fresh schedule; both limits by group."""
        options = self.optimizer.defaults
        if "momentum" not in options and "betas" not in options:
            raise ValueError(
                f"{type(self).__name__}: optimizer must support momentum or beta1 with "
                "`cycle_momentum` option enabled; pass cycle_momentum=False"
            )
        self.use_beta1 = "betas" in options
        bases = one_a_group("base_momentum", self.optimizer, base)
        highests = one_a_group("max_momentum", self.optimizer, highest)
        if last_epoch == -1:
            for low, high, group in zip(bases, highests, self.optimizer.param_groups, strict=True):
                self._write_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return bases, highests

    def _write_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_Cycle):
    """Moves the rate between two limits, up and down in straight lines."""

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        bases = one_a_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(bases, optimizer.param_groups, strict=True):
                write(group, "lr", rate)
        self.max_lrs = one_a_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                "CyclicLR: expected mode 'triangular', 'triangular2' or 'exp_range', or a "
                f"scale_fn, got mode {mode!r} and scale_fn None"
            )
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            limits = self._start_momentum(base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = limits
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        functions: dict[str, Callable[[float], float]] = {
            "triangular": _constant, "triangular2": _halving,
            "exp_range": partial(_power, self.gamma),
        }  # fmt: skip
        self._scale_fn_ref = functions[self.mode]
        self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x: float) -> float:
        """The height of cycle or iteration `x`."""
        return float((self._scale_fn_custom or self._scale_fn_ref)(x))

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`; writes momentum too."""
        self._warn_outside_of_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        if place <= self.step_ratio:
            height = place / self.step_ratio
        else:
            height = (place - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momentums = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, momentums, strict=True):
                self._write_momentum(group, high - (high - low) * height * scale)
        limits = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height * scale for low, high in limits]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and plain functions; of callable objects, their state."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state.pop("_scale_fn_custom")
        return {**state, "_scale_fn_custom": state_of_function(custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; functions stay as they are."""
        kept = {name: value for name, value in state_dict.items() if name != "_scale_fn_custom"}
        super().load_state_dict(kept)
        custom = state_dict["_scale_fn_custom"]
        if custom is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(custom)
        self._init_scale_fn()


def _constant(x: float) -> float:
    return 1.0


def _halving(x: float) -> float:
    return float(2.0 ** (1 - x))


def _power(gamma: float, x: float) -> float:
    return float(gamma**x)


class OneCycleLR(_Cycle):
    """Raises the rate once to `max_lr` and lowers it to almost nothing."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _count_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: expected float between 0 and 1 pct_start, got "
                             f"{pct_start}")  # fmt: skip
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "OneCycleLR: anneal_strategy must be one of 'cos' or 'linear', got "
                f"{anneal_strategy!r}"
            )
        self._anneal_func_type = anneal_strategy
        highest = one_a_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for rate, group in zip(highest, optimizer.param_groups, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`; writes momentum too."""
        self._warn_outside_of_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"OneCycleLR.step: expected at most {self.total_steps} steps, got {step}; make the "
                "schedule with the right total_steps"
            )
        start, phase = self._phase(step)
        share = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                limits = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._write_momentum(group, self._between(*limits, share))
        return rates

    def _phase(self, step: int) -> tuple[float, dict[str, Any]]:
        """Where the phase of `step` starts, and the phase."""
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                return start, phase
            start = phase["end_step"]
        return start, self._schedule_phases[-1]

    def _between(self, start: Any, end: Any, share: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _count_steps(total: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total is None and (epochs is None or steps_per_epoch is None):
        raise ValueError(
            "OneCycleLR: expected either total_steps or both epochs and steps_per_epoch, got "
            "neither"
        )
    given = {"total_steps": total} if total is not None else {
        "epochs": epochs, "steps_per_epoch": steps_per_epoch,
    }  # fmt: skip
    count = 1
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"OneCycleLR: expected positive integer {name}, got {value}")
        count *= value
    return count


def _phases(total: int, share: float, three: bool) -> list[dict[str, Any]]:
    """The stretches of the schedule, each with its last step and the options it moves between."""
    up = _phase_of(float(share * total) - 1, "initial_lr", "max_lr", "max", "base")
    if not three:
        return [up, _phase_of(total - 1, "max_lr", "min_lr", "base", "max")]
    down = _phase_of(float(2 * share * total) - 2, "max_lr", "initial_lr", "base", "max")
    return [up, down, _phase_of(total - 1, "initial_lr", "min_lr", "max", "max")]


def _phase_of(
    end: float, lr: str, next_lr: str, momentum: str, next_momentum: str
) -> dict[str, Any]:
    return {
        "end_step": end, "start_lr": lr, "end_lr": next_lr,
        "start_momentum": f"{momentum}_momentum", "end_momentum": f"{next_momentum}_momentum",
    }  # fmt: skip
