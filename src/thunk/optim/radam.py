"""RAdam: Adam that scales by gradients' size only once enough of them were seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thunk.ops.update.moments import radam
from thunk.optim.checks import check_at_least_zero, check_betas, check_lr
from thunk.optim.elementwise import ElementwiseOptimizer, zeros_like
from thunk.optim.numbers import moment_numbers, number
from thunk.optim.optimizer import ParamsT


class RAdam(ElementwiseOptimizer):
    """Adam with a correction for the variance of the size of gradients."""

    _rule = radam
    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False,
        "decoupled_weight_decay": False, "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr("RAdam", lr)
        check_at_least_zero("RAdam", eps=eps)
        check_betas("RAdam", betas)
        check_at_least_zero("RAdam", weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        return {"step": 0.0, **{name: zeros_like(param) for name in self._held(group)}}

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        state["step"] += 1
        step = state["step"]
        beta1, beta2 = map(number, group["betas"])
        square_bias = 1 - beta2**step
        return {
            "lr": number(group["lr"]),
            "mean_bias": 1 - beta1**step,
            "square_scale": square_bias**0.5,
            "rectifier": _rectifier(step, beta2, square_bias),
            **moment_numbers(group),
        }


def _rectifier(step: float, beta2: float, square_bias: float) -> float | None:
    """The correction of the variance, None while its estimate has too few degrees of freedom."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / square_bias
    if not length > 5.0:
        return None
    ratio = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return float(ratio**0.5)
