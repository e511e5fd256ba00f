"""Stochastic gradient descent, with momentum or without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thunk.ops.update.momentum import sgd
from thunk.optim.checks import check_at_least_zero, check_lr, check_modes
from thunk.optim.elementwise import ElementwiseOptimizer, zeros_like
from thunk.optim.numbers import number, number_or_none
from thunk.optim.optimizer import ParamsT


class SGD(ElementwiseOptimizer):
    """Descends along the gradient, or along its momentum."""

    _rule = sgd
    _number_states = frozenset()
    _later_options: ClassVar[dict[str, Any]] = {
        "nesterov": False, "maximize": False, "foreach": None, "differentiable": False,
        "fused": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr("SGD", lr)
        check_at_least_zero("SGD", momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                "SGD: Nesterov momentum requires a momentum and zero dampening: got momentum="
                f"{momentum}, dampening={dampening}"
            )
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_modes("SGD", foreach=foreach, fused=fused, differentiable=differentiable)

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        return {}

    def _stage(self, group: Mapping[str, Any], param: Any, state: dict[str, Any]) -> Any:
        """Whether the momentum is about to start."""
        if group["momentum"] == 0 or state.get("momentum_buffer") is not None:
            return False
        state["momentum_buffer"] = zeros_like(param)
        return True

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        return {
            "lr": number(group["lr"]),
            "momentum": number(group["momentum"]),
            # The first momentum is the whole gradient, whatever the dampening.
            "gain": 1.0 if stage else 1 - number(group["dampening"]),
            "weight_decay": number_or_none(group["weight_decay"]),
            "nesterov": bool(group["nesterov"]),
        }
