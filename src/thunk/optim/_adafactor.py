"""Adafactor: Adam whose squares are kept by row and column only.

Invariant: sizes of parameters and updates stay tensors, so a step waits for no value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.ops.registry import t
from thunk.optim.checks import check_at_least_zero, check_lr
from thunk.optim.elementwise import dense, zeros_like
from thunk.optim.numbers import number
from thunk.optim.optimizer import Optimizer, ParamsT, _use_grad_for_differentiable
from thunk.types.info import finfo
from thunk.types.tensor_base import TensorBase


class Adafactor(Optimizer):
    """Scales gradients by their size with memory that grows with rows plus columns."""

    _number_states = frozenset({"step"})

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr("Adafactor", lr)
        if beta2_decay > 0.0:
            raise ValueError(f"Adafactor: expected beta2_decay of at most 0, got {beta2_decay}")
        check_at_least_zero("Adafactor", **{"eps[0]": eps[0] or 0.0, "eps[1]": eps[1]})
        if d < 1.0:
            raise ValueError(f"Adafactor: expected d of at least 1, got {d}")
        check_at_least_zero("Adafactor", weight_decay=weight_decay)
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters; `closure`, if given, computes the loss and the gradients."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if param.is_complex():
                    raise RuntimeError(
                        "Adafactor does not support complex parameters; optimize real views"
                    )
                self._update(group, param, dense(self, param.grad))
        return loss

    def _update(self, group: dict[str, Any], param: Any, grad: Any) -> None:
        grad = -grad if group["maximize"] else grad
        state = self.state[param]
        if not state:
            state.update(_start(grad))
        state["step"] += 1
        lr, least = number(group["lr"]), group["eps"][0]
        least = finfo(param.dtype).eps if least is None else least
        size = t.clamp(t.norm(param) / param.numel() ** 0.5, min=group["eps"][1])
        rate = size * _at_most(lr, 1 / state["step"] ** 0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        squares = _squares(state, grad, state["step"] ** group["beta2_decay"], least)
        update = grad * t.rsqrt(t.clamp(squares, min=least * least))
        excess = t.norm(update) / (update.numel() ** 0.5 * group["d"])
        param.sub_(update * (rate / t.clamp(excess, min=1.0)))


def _start(grad: Any) -> dict[str, Any]:
    if grad.dim() < 2:
        return {"step": 0.0, "variance": zeros_like(grad)}
    rows, columns = (*grad.shape[:-1], 1), (*grad.shape[:-2], 1, grad.shape[-1])
    return {"step": 0.0, "row_var": grad.new_zeros(rows), "col_var": grad.new_zeros(columns)}


def _squares(state: dict[str, Any], grad: Any, weight: float, least: float) -> Any:
    """The running mean of squares; of matrices, the product of those of rows and columns."""
    if grad.dim() < 2:
        return state["variance"].lerp_(grad * grad, weight)
    rows, columns = state["row_var"], state["col_var"]
    rows.lerp_(t.norm(grad, dim=-1, keepdim=True).square() / grad.shape[-1], weight)
    columns.lerp_(t.norm(grad, dim=-2, keepdim=True).square() / grad.shape[-2], weight)
    return (rows @ columns) / rows.mean(dim=-2, keepdim=True).clamp(min=least)


def _at_most(value: Any, limit: float) -> Any:
    return t.clamp(value, max=limit) if isinstance(value, TensorBase) else min(value, limit)
