"""Updates by the sign of the gradient alone: Rprop."""

from __future__ import annotations

from typing import Any

from thunk.ops.update.rule import UpdateRule


def _rprop(
    m: Any, param: Any, grad: Any, prev: Any, step_size: Any, *, shrink: Any, grow: Any,
    smallest: Any, largest: Any, maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    grad = -grad if maximize else grad
    agreement = grad * prev
    turned = agreement < 0
    step_size = m.where(
        agreement > 0, step_size * grow, m.where(turned, step_size * shrink, step_size)
    )
    step_size = m.clamp(step_size, smallest, largest)
    grad = m.where(turned, m.zeros_like(grad), grad)
    return param - m.sign(grad) * step_size, grad, step_size


rprop = UpdateRule(
    "rprop",
    _rprop,
    doc="One step of resilient propagation: sizes grow while the sign stays and shrink when it "
    "turns, where the step is left out.",
    states="prev step_size",
    numbers="Scalar shrink, Scalar grow, Scalar smallest, Scalar largest, bool maximize",
)
