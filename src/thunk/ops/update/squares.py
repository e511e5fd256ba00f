"""Updates scaled by sums or running means of squared gradients: Adagrad, Adadelta, RMSprop."""

from __future__ import annotations

from typing import Any

from thunk.ops.update.rule import UpdateRule


def _decayed(param: Any, grad: Any, weight_decay: Any, maximize: bool) -> Any:
    grad = -grad if maximize else grad
    return grad if weight_decay is None else grad + param * weight_decay


def _adagrad(
    m: Any, param: Any, grad: Any, sum: Any, *, step_size: Any, eps: Any, weight_decay: Any,
    maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    grad = _decayed(param, grad, weight_decay, maximize)
    sum = sum + grad * grad
    return param - grad * step_size / (m.sqrt(sum) + eps), sum


adagrad = UpdateRule(
    "adagrad",
    _adagrad,
    doc="One step of Adagrad, scaled by the root of the sum of all squares.",
    states="sum",
    numbers="Scalar step_size, Scalar eps, Scalar? weight_decay, bool maximize",
)


def _adadelta(
    m: Any, param: Any, grad: Any, square_avg: Any, acc_delta: Any, *, lr: Any, decay: Any,
    weight: Any, eps: Any, weight_decay: Any, maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    grad = _decayed(param, grad, weight_decay, maximize)
    square_avg = square_avg * decay + grad * weight * grad
    delta = m.sqrt(acc_delta + eps) / m.sqrt(square_avg + eps) * grad
    acc_delta = acc_delta * decay + delta * weight * delta
    return param - delta * lr, square_avg, acc_delta


adadelta = UpdateRule(
    "adadelta",
    _adadelta,
    doc="One step of Adadelta, scaled by the ratio of past changes to past gradients.",
    states="square_avg acc_delta",
    numbers="Scalar lr, Scalar decay, Scalar weight, Scalar eps, Scalar? weight_decay, "
    "bool maximize",
)


def _rmsprop(
    m: Any, param: Any, grad: Any, square_avg: Any, momentum_buffer: Any = None,
    grad_avg: Any = None, *, lr: Any, decay: Any, weight: Any, momentum: Any, eps: Any,
    weight_decay: Any, maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    grad = _decayed(param, grad, weight_decay, maximize)
    square_avg = square_avg * decay + grad * weight * grad
    variance = square_avg
    if grad_avg is not None:
        grad_avg = m.lerp(grad_avg, grad, weight)
        variance = square_avg - grad_avg * grad_avg
    size = m.sqrt(variance) + eps
    if momentum_buffer is None:
        param = param - grad * lr / size
    else:
        momentum_buffer = momentum_buffer * momentum + grad / size
        param = param - momentum_buffer * lr
    states = (square_avg, momentum_buffer, grad_avg)
    return (param, *[each for each in states if each is not None])


rmsprop = UpdateRule(
    "rmsprop",
    _rmsprop,
    doc="One step of RMSprop, scaled by the root of the mean square; with `grad_avg`, by the "
    "standard deviation.",
    states="square_avg",
    optional="momentum_buffer grad_avg",
    numbers="Scalar lr, Scalar decay, Scalar weight, Scalar momentum, Scalar eps, "
    "Scalar? weight_decay, bool maximize",
)
