"""NAdam: Adam that looks ahead as Nesterov's momentum does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thunk.ops.update.moments import nadam
from thunk.optim.checks import check_at_least_zero, check_betas, check_lr
from thunk.optim.elementwise import ElementwiseOptimizer, zeros_like
from thunk.optim.numbers import as_saved, moment_numbers, number
from thunk.optim.optimizer import ParamsT


class NAdam(ElementwiseOptimizer):
    """Adam with a momentum that grows over time and is applied ahead."""

    _rule = nadam
    _number_states = frozenset({"step", "mu_product"})
    _later_options: ClassVar[dict[str, Any]] = {
        "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
        "decoupled_weight_decay": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr("NAdam", lr)
        check_at_least_zero("NAdam", eps=eps)
        check_betas("NAdam", betas)
        check_at_least_zero("NAdam", weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        means = {name: zeros_like(param) for name in self._held(group)}
        return {"step": 0.0, "mu_product": 1.0, **means}

    def _stage(self, group: Mapping[str, Any], param: Any, state: dict[str, Any]) -> Any:
        """What of a state the numbers follow from."""
        return state["step"], state["mu_product"]

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        state["step"] += 1
        step, lr, decay = state["step"], number(group["lr"]), group["momentum_decay"]
        beta1, beta2 = map(number, group["betas"])
        now = beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
        ahead = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))
        state["mu_product"] = as_saved(state["mu_product"] * as_saved(now))
        return {
            "grad_size": lr * (1.0 - now) / (1.0 - state["mu_product"]),
            "mean_size": lr * ahead / (1.0 - state["mu_product"] * ahead),
            "square_bias": 1 - beta2**step,
            **moment_numbers(group),
        }
