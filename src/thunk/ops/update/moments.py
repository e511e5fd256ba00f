"""Updates by running means of the gradient and of its size: Adam and its relatives.

Every number that depends on the step count arrives computed: biases corrected, sizes scaled.
"""

from __future__ import annotations

from typing import Any

from thunk.ops.update.rule import UpdateRule


def _prepared(
    param: Any, grad: Any, weight_decay: Any, shrink: Any, maximize: bool
) -> tuple[Any, Any]:
    """The parameter after decay of its own, the gradient with the decay that goes through it."""
    grad = -grad if maximize else grad
    if shrink is not None:
        param = param * shrink
    if weight_decay is not None:
        grad = grad + param * weight_decay
    return param, grad


def _adam(
    m: Any, param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, max_exp_avg_sq: Any = None, *,
    step_size: Any, mean_weight: Any, square_decay: Any, square_weight: Any, square_scale: Any,
    eps: Any, weight_decay: Any, shrink: Any, maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    param, grad = _prepared(param, grad, weight_decay, shrink, maximize)
    exp_avg = m.lerp(exp_avg, grad, mean_weight)
    exp_avg_sq = exp_avg_sq * square_decay + grad * square_weight * grad
    if max_exp_avg_sq is None:
        size = m.sqrt(exp_avg_sq) / square_scale + eps
        return param - exp_avg * step_size / size, exp_avg, exp_avg_sq
    max_exp_avg_sq = m.maximum(max_exp_avg_sq, exp_avg_sq)
    size = m.sqrt(max_exp_avg_sq) / square_scale + eps
    return param - exp_avg * step_size / size, exp_avg, exp_avg_sq, max_exp_avg_sq


adam = UpdateRule(
    "adam",
    _adam,
    doc="One step of Adam, or of AdamW, whose decay is `shrink`. `step_size` is the learning rate "
    "over the mean's bias, `square_scale` the root of the squares' bias.",
    states="exp_avg exp_avg_sq",
    optional="max_exp_avg_sq",
    numbers="Scalar step_size, Scalar mean_weight, Scalar square_decay, Scalar square_weight, "
    "Scalar square_scale, Scalar eps, Scalar? weight_decay, Scalar? shrink, bool maximize",
)


def _adamax(
    m: Any, param: Any, grad: Any, exp_avg: Any, exp_inf: Any, *, step_size: Any, mean_weight: Any,
    size_decay: Any, eps: Any, weight_decay: Any, maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    param, grad = _prepared(param, grad, weight_decay, None, maximize)
    exp_avg = m.lerp(exp_avg, grad, mean_weight)
    exp_inf = m.maximum(exp_inf * size_decay, m.abs(grad) + eps)
    return param - exp_avg * step_size / exp_inf, exp_avg, exp_inf


adamax = UpdateRule(
    "adamax",
    _adamax,
    doc="One step of Adamax: sizes are running maxima instead of means of squares.",
    states="exp_avg exp_inf",
    numbers="Scalar step_size, Scalar mean_weight, Scalar size_decay, Scalar eps, "
    "Scalar? weight_decay, bool maximize",
)


def _nadam(
    m: Any, param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, *, grad_size: Any,
    mean_size: Any, mean_weight: Any, square_decay: Any, square_weight: Any, square_bias: Any,
    eps: Any, weight_decay: Any, shrink: Any, maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    param, grad = _prepared(param, grad, weight_decay, shrink, maximize)
    exp_avg = m.lerp(exp_avg, grad, mean_weight)
    exp_avg_sq = exp_avg_sq * square_decay + grad * square_weight * grad
    size = m.sqrt(exp_avg_sq / square_bias) + eps
    param = param - grad * grad_size / size
    return param - exp_avg * mean_size / size, exp_avg, exp_avg_sq


nadam = UpdateRule(
    "nadam",
    _nadam,
    doc="One step of NAdam: along the gradient by `grad_size` and along its mean by `mean_size`.",
    states="exp_avg exp_avg_sq",
    numbers="Scalar grad_size, Scalar mean_size, Scalar mean_weight, Scalar square_decay, "
    "Scalar square_weight, Scalar square_bias, Scalar eps, Scalar? weight_decay, Scalar? shrink, "
    "bool maximize",
)


def _radam(
    m: Any, param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, *, lr: Any, mean_weight: Any,
    mean_bias: Any, square_decay: Any, square_weight: Any, square_scale: Any, rectifier: Any,
    eps: Any, weight_decay: Any, shrink: Any, maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    param, grad = _prepared(param, grad, weight_decay, shrink, maximize)
    exp_avg = m.lerp(exp_avg, grad, mean_weight)
    exp_avg_sq = exp_avg_sq * square_decay + grad * square_weight * grad
    step = exp_avg / mean_bias * lr
    if rectifier is not None:
        step = step * (square_scale / (m.sqrt(exp_avg_sq) + eps)) * rectifier
    return param - step, exp_avg, exp_avg_sq


radam = UpdateRule(
    "radam",
    _radam,
    doc="One step of RAdam; `rectifier` is None while the squares' variance is not tractable.",
    states="exp_avg exp_avg_sq",
    numbers="Scalar lr, Scalar mean_weight, Scalar mean_bias, Scalar square_decay, "
    "Scalar square_weight, Scalar square_scale, Scalar? rectifier, Scalar eps, "
    "Scalar? weight_decay, Scalar? shrink, bool maximize",
)
