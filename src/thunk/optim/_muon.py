"""Muon: momentum made orthogonal, for matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from thunk.ops.registry import t
from thunk.optim.checks import check_at_least_zero, check_lr
from thunk.optim.elementwise import dense, zeros_like
from thunk.optim.numbers import number
from thunk.optim.optimizer import Optimizer, ParamsT, _use_grad_for_differentiable

COEFFICIENTS = (3.4445, -4.775, 2.0315)
_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Steps along the orthogonal matrix nearest to the momentum, found by Newton-Schulz steps."""

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = COEFFICIENTS,
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr("Muon", lr)
        check_at_least_zero("Muon", momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"Muon: expected adjust_lr_fn among {_ADJUSTMENTS}, got "
                             f"{adjust_lr_fn!r}")  # fmt: skip
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for param in (each for group in self.param_groups for each in group["params"]):
            if param.dim() != 2:
                raise ValueError(
                    f"Muon only supports 2D parameters: got one of shape {tuple(param.shape)}; "
                    "give the others to AdamW"
                )
            if param.is_complex():
                raise RuntimeError("Muon does not support complex parameters; optimize real views")

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters; `closure`, if given, computes the loss and the gradients."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._update(group, param, dense(self, param.grad))
        return loss

    def _update(self, group: dict[str, Any], param: Any, grad: Any) -> None:
        state = self.state[param]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_like(grad)
        buffer = state["momentum_buffer"]
        momentum, lr = number(group["momentum"]), number(group["lr"])
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        param.mul_(1 - lr * group["weight_decay"])
        param.sub_(update * (lr * _adjustment(group["adjust_lr_fn"], *param.shape)))


def orthogonal(
    matrix: Any, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Any:
    """`matrix` with its singular values brought near 1, in bfloat16."""
    if steps >= 100:
        raise ValueError(f"Muon: expected ns_steps below 100, got {steps}")
    if len(coefficients) != 3:
        raise ValueError(f"Muon: expected 3 ns_coefficients, got {len(coefficients)}")
    first, third, fifth = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    found = matrix.bfloat16()
    found = found.t() if tall else found
    found = found / found.norm().clamp(min=eps)
    for _ in range(steps):
        gram = found @ found.t()
        odd = t.addmm(gram, gram, gram, beta=third, alpha=fifth)
        found = t.addmm(found, odd, found, beta=first)
    return found.t() if tall else found


def _adjustment(kind: str | None, rows: int, columns: int) -> float:
    """What the learning rate is multiplied with, for matrices of any shape to move alike."""
    if kind == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1.0, rows / columns))
