"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thunk.ops.update.momentum import asgd
from thunk.optim.checks import check_at_least_zero, check_lr
from thunk.optim.elementwise import ElementwiseOptimizer, zeros_like
from thunk.optim.numbers import as_saved, number, number_or_none
from thunk.optim.optimizer import ParamsT


class ASGD(ElementwiseOptimizer):
    """Descends with a rate that falls, and keeps the average of the parameters from `t0` on."""

    _rule = asgd
    _number_states = frozenset({"step", "eta", "mu"})
    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False, "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr("ASGD", lr)
        check_at_least_zero("ASGD", weight_decay=weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        return ("ax",)

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        eta = as_saved(number(group["lr"]))
        return {"step": 0.0, "eta": eta, "mu": 1.0, "ax": zeros_like(param)}

    def _stage(self, group: Mapping[str, Any], param: Any, state: dict[str, Any]) -> Any:
        """What of a state the numbers follow from."""
        return state["step"], state["eta"], state["mu"]

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        state["step"] += 1
        step, lr, lambd = state["step"], number(group["lr"]), group["lambd"]
        numbers = {
            "eta": state["eta"],
            "shrink": 1 - lambd * state["eta"],
            "mu": None if state["mu"] == 1 else state["mu"],
            "weight_decay": number_or_none(group["weight_decay"]),
        }
        state["eta"] = as_saved(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"] = as_saved(1 / max(1.0, step - group["t0"]))
        return numbers
