"""Adagrad: gradients over the root of the sum of all their squares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thunk.ops.registry import t
from thunk.ops.update.squares import adagrad
from thunk.optim.checks import check_at_least_zero, check_lr, check_modes
from thunk.optim.elementwise import ElementwiseOptimizer
from thunk.optim.numbers import number, number_or_none
from thunk.optim.optimizer import ParamsT


class Adagrad(ElementwiseOptimizer):
    """Slows down where gradients were large."""

    _rule = adagrad
    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False, "fused": None,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr("Adagrad", lr)
        check_at_least_zero(
            "Adagrad", lr_decay=lr_decay, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, eps=eps,
        )  # fmt: skip
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_modes("Adagrad", foreach=foreach, fused=fused, differentiable=differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(self._start(group, param))

    def share_memory(self) -> None:
        """Put the sums into memory that processes share."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        value = self.defaults["initial_accumulator_value"]
        first = complex(value, value) if param.dtype.is_complex else value
        return {"step": 0.0, "sum": t.full_like(param, first)}

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        state["step"] += 1
        return {
            "step_size": number(group["lr"]) / (1 + (state["step"] - 1) * group["lr_decay"]),
            "eps": number(group["eps"]),
            "weight_decay": number_or_none(group["weight_decay"]),
        }
