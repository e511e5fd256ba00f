"""Adam: the mean of gradients over the root of their mean square."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thunk.ops.update.moments import adam
from thunk.optim.checks import (
    check_at_least_zero,
    check_betas,
    check_lr,
    check_modes,
    check_no_tensor_with_foreach,
)
from thunk.optim.elementwise import ElementwiseOptimizer, zeros_like
from thunk.optim.numbers import moment_numbers, number
from thunk.optim.optimizer import ParamsT
from thunk.types.tensor_base import TensorBase


class Adam(ElementwiseOptimizer):
    """Scales the mean of gradients by their size, both corrected for their start at zero."""

    _rule = adam
    _later_options: ClassVar[dict[str, Any]] = {
        "amsgrad": False, "maximize": False, "foreach": None, "capturable": False,
        "differentiable": False, "decoupled_weight_decay": False, "fused": None,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        name = type(self).__name__
        for option, value in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
            check_no_tensor_with_foreach(name, option, value, foreach, capturable)
        check_lr(name, lr)
        check_at_least_zero(name, eps=eps)
        check_betas(name, betas)
        check_at_least_zero(name, weight_decay=weight_decay)
        _check_alike(name, betas)
        defaults = {
            "lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_modes(name, foreach=foreach, fused=fused, differentiable=differentiable)

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        means = ("exp_avg", "exp_avg_sq")
        return (*means, "max_exp_avg_sq") if group["amsgrad"] else means

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        return {"step": 0.0, **{name: zeros_like(param) for name in self._held(group)}}

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        state["step"] = step = state["step"] + 1
        beta1, beta2 = group["betas"]
        beta1, beta2 = number(beta1), number(beta2)
        found = {
            "step_size": number(group["lr"]) / (1 - beta1**step),
            "square_scale": (1 - beta2**step) ** 0.5,
        }
        found.update(moment_numbers(group))
        return found


def _check_alike(name: str, betas: tuple[Any, Any]) -> None:
    kinds = {isinstance(beta, TensorBase) for beta in betas}
    if len(kinds) > 1 or not all(isinstance(beta, (float, TensorBase)) for beta in betas):
        raise ValueError(f"{name}: betas must be either both floats or both Tensors, got {betas}")
