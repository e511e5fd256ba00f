"""Adadelta: steps as large as past steps were, relative to past gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thunk.ops.update.squares import adadelta
from thunk.optim.checks import check_at_least_zero, check_lr
from thunk.optim.elementwise import ElementwiseOptimizer, zeros_like
from thunk.optim.numbers import number, number_or_none
from thunk.optim.optimizer import ParamsT


class Adadelta(ElementwiseOptimizer):
    """Scales gradients by the ratio of the sizes of past changes and of past gradients."""

    _rule = adadelta
    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False, "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr("Adadelta", lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Adadelta: expected rho in [0, 1], got {rho}")
        check_at_least_zero("Adadelta", eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        return {"step": 0.0, **{name: zeros_like(param) for name in self._held(group)}}

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        state["step"] += 1
        decay = number(group["rho"])
        return {
            "lr": number(group["lr"]),
            "decay": decay,
            "weight": 1 - decay,
            "eps": number(group["eps"]),
            "weight_decay": number_or_none(group["weight_decay"]),
        }
