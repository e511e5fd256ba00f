"""Adamax: Adam with a running maximum for the size of gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thunk.ops.update.moments import adamax
from thunk.optim.checks import check_at_least_zero, check_betas, check_lr
from thunk.optim.elementwise import ElementwiseOptimizer, zeros_like
from thunk.optim.numbers import number, number_or_none
from thunk.optim.optimizer import ParamsT


class Adamax(ElementwiseOptimizer):
    """Scales the mean of gradients by the largest one, which fades."""

    _rule = adamax
    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False, "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr("Adamax", lr)
        check_at_least_zero("Adamax", eps=eps)
        check_betas("Adamax", betas)
        check_at_least_zero("Adamax", weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_inf")

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        return {"step": 0.0, "exp_avg": zeros_like(param), "exp_inf": zeros_like(param)}

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        state["step"] += 1
        beta1, beta2 = map(number, group["betas"])
        return {
            "step_size": number(group["lr"]) / (1 - beta1 ** state["step"]),
            "mean_weight": 1 - beta1,
            "size_decay": beta2,
            "eps": number(group["eps"]),
            "weight_decay": number_or_none(group["weight_decay"]),
        }
