"""Updates along the gradient itself or a running mean of it: SGD and averaged SGD."""

from __future__ import annotations

from typing import Any

from thunk.ops.update.rule import UpdateRule


def _sgd(
    m: Any, param: Any, grad: Any, momentum_buffer: Any = None, *, lr: Any, momentum: Any,
    gain: Any, weight_decay: Any, nesterov: bool, maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    grad = -grad if maximize else grad
    if weight_decay is not None:
        grad = grad + param * weight_decay
    if momentum_buffer is None:
        return (param - grad * lr,)
    momentum_buffer = momentum_buffer * momentum + grad * gain
    grad = grad + momentum_buffer * momentum if nesterov else momentum_buffer
    return param - grad * lr, momentum_buffer


sgd = UpdateRule(
    "sgd",
    _sgd,
    doc="One step of gradient descent. `gain` is what the gradient adds to the momentum; the "
    "first step has a momentum of zero and a gain of one.",
    optional="momentum_buffer",
    numbers="Scalar lr, Scalar momentum, Scalar gain, Scalar? weight_decay, bool nesterov, "
    "bool maximize",
)


def _asgd(
    m: Any, param: Any, grad: Any, ax: Any, *, eta: Any, shrink: Any, mu: Any, weight_decay: Any,
    maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    grad = -grad if maximize else grad
    if weight_decay is not None:
        grad = grad + param * weight_decay
    param = param * shrink - grad * eta
    return param, m.clone(param) if mu is None else ax + (param - ax) * mu


asgd = UpdateRule(
    "asgd",
    _asgd,
    doc="One step of averaged gradient descent: `ax` is the average, of weight `mu` for the new "
    "parameter (None: all of it), `shrink` the decay towards zero.",
    states="ax",
    numbers="Scalar eta, Scalar shrink, Scalar? mu, Scalar? weight_decay, bool maximize",
)
