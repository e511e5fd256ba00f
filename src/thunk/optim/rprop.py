"""Rprop: steps by the sign of the gradient, of sizes that adapt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thunk.ops.registry import t
from thunk.ops.update.signs import rprop
from thunk.optim.checks import check_lr
from thunk.optim.elementwise import ElementwiseOptimizer, zeros_like
from thunk.optim.numbers import number
from thunk.optim.optimizer import ParamsT


class Rprop(ElementwiseOptimizer):
    """Lengthens steps while gradients keep their sign and shortens them when it turns."""

    _rule = rprop
    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None, "maximize": False, "differentiable": False, "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr("Rprop", lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(
                f"Rprop: expected etas in (0, 1) and above 1, got {etas[0]} and {etas[1]}"
            )
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _held(self, group: Mapping[str, Any]) -> tuple[str, ...]:
        return ("prev", "step_size")

    def _start(self, group: Mapping[str, Any], param: Any) -> dict[str, Any]:
        size = t.zeros_like(param) + number(group["lr"])
        if param.dtype.is_complex:
            size = t.complex(size.real, size.real)
        return {"step": 0.0, "prev": zeros_like(param), "step_size": size}

    def _numbers(
        self, group: Mapping[str, Any], state: dict[str, Any], stage: Any
    ) -> dict[str, Any]:
        state["step"] += 1
        shrink, grow = map(number, group["etas"])
        smallest, largest = map(number, group["step_sizes"])
        return {"shrink": shrink, "grow": grow, "smallest": smallest, "largest": largest}
