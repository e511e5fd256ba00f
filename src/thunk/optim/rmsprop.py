"""RMSprop: gradients over the root of their mean square."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thunk.ops.update.squares import rmsprop
from thunk.optim.checks import check_at_least_zero, check_lr
from thunk.optim.elementwise import ElementwiseOptimizer, zeros_like
from thunk.optim.numbers import number, number_or_none
from thunk.optim.optimizer import ParamsT


class RMSprop(ElementwiseOptimizer):
    """Scales gradients by their recent size, or with `centered` by their deviation."""

    _rule = rmsprop
    _later_options: ClassVar[dict[str, Any]] = {
        "momentum": 0, "centered": False, "foreach": None, "maximize": False,
        "differentiable": False, "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr("RMSprop", lr)
        check_at_least_zero(
            "RMSprop", eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha
        )
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        held = ["square_avg"]
        if group["momentum"] > 0:
            held.append("momentum_buffer")
        if group["centered"]:
            held.append("grad_avg")
        return tuple(held)

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        return {"step": 0.0, **{name: zeros_like(param) for name in self._held(group)}}

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        state["step"] += 1
        decay = number(group["alpha"])
        return {
            "lr": number(group["lr"]),
            "decay": decay,
            "weight": 1 - decay,
            "momentum": number(group["momentum"]),
            "eps": number(group["eps"]),
            "weight_decay": number_or_none(group["weight_decay"]),
        }
