"""Enters: vectors. Leaves: smooth activations, their gradients, and logarithms of sums.

Invariant: exponentials are taken of numbers that are not positive, so that none overflows.
"""

from __future__ import annotations

from thunk.backends.cpu.llvm.math.exponential import (
    careful_exp,
    exp,
    exp2,
    expm1,
    logistic_pair,
    logistic_share,
    sigmoid,
)
from thunk.backends.cpu.llvm.math.lanes import (
    Lanes,
    at_least,
    at_most,
    choose,
    multiply_add,
)
from thunk.backends.cpu.llvm.math.logarithm import INFINITY, log, log1p, log1p_of
from thunk.backends.cpu.llvm.math.registry import in_double, vector_function

_LN2, _LOG2_E = 0.6931471805599453, 1.4426950408889634


@vector_function("silu")
def silu(x: Lanes) -> Lanes:
    # Far from zero the logistic function is 0 or 1, and -inf times 0 is not a number.
    step = choose(x > 0.0, x.constant(1.0), 0.0)
    return choose(abs(x) > 800.0, x * step, logistic_share(x, x))


@vector_function("silu_backward")
def silu_backward(grad: Lanes, x: Lanes) -> Lanes:
    level, rest = logistic_pair(x)
    return grad * (level * multiply_add(x, rest, 1.0))


@vector_function("log_sigmoid")
def log_sigmoid(x: Lanes) -> Lanes:
    return at_most(x, 0.0) - log1p_of(exp(-abs(x)))


@vector_function("log_sigmoid_backward")
def log_sigmoid_backward(grad: Lanes, x: Lanes, buffer: Lanes) -> Lanes:
    """`buffer` is exp(-|x|)."""
    return grad * (choose(x < 0.0, 1.0, buffer) / (buffer + 1.0))


@vector_function("softplus")
def softplus(x: Lanes, beta: Lanes, threshold: Lanes) -> Lanes:
    z = x * beta
    smooth = (at_least(z, 0.0) + log1p_of(exp(-abs(z)))) / beta
    return choose(z > threshold, x, smooth)


@vector_function("softplus_backward")
def softplus_backward(grad: Lanes, x: Lanes, beta: Lanes, threshold: Lanes) -> Lanes:
    z = x * beta
    return choose(z > threshold, grad, grad * sigmoid(z))


def _mish_parts(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Numerator of tanh(log(1 + exp(x))), what it lacks to the denominator, and exp(-|x|)."""
    fallen = careful_exp(-abs(x))
    negative = x < 0.0
    above = multiply_add(fallen, 2.0, 1.0)
    numerator = choose(negative, fallen * (fallen + 2.0), above)
    return numerator, choose(negative, 2.0, fallen * fallen * 2.0), fallen


@vector_function("mish")
@in_double
def mish(x: Lanes) -> Lanes:
    numerator, lack, _ = _mish_parts(x)
    return x * (numerator / (numerator + lack))


@vector_function("mish_backward")
def mish_backward(grad: Lanes, x: Lanes) -> Lanes:
    numerator, lack, fallen = _mish_parts(x)
    inverse = 1.0 / (numerator + lack)
    level = numerator * inverse
    logistic = choose(x < 0.0, fallen, 1.0) / (fallen + 1.0)
    # 1 - level**2 without a difference of nearly equal numbers.
    slope = lack * inverse * (level + 1.0) * logistic
    return grad * multiply_add(x, slope, level)


@vector_function("elu")
def elu(x: Lanes, alpha: Lanes, scale: Lanes, input_scale: Lanes) -> Lanes:
    return choose(x <= 0.0, expm1(x * input_scale) * (alpha * scale), x * scale)


@vector_function("elu_backward")
def elu_backward(
    grad: Lanes, alpha: Lanes, scale: Lanes, input_scale: Lanes, x: Lanes
) -> Lanes:
    curve = alpha * scale * exp(x * input_scale)
    return choose(x <= 0.0, grad * input_scale * curve, grad * scale)


@vector_function("elu_backward_of_result")
def elu_backward_of_result(
    grad: Lanes, alpha: Lanes, scale: Lanes, input_scale: Lanes, result: Lanes
) -> Lanes:
    curve = result + alpha * scale
    return choose(result <= 0.0, grad * input_scale * curve, grad * scale)


@vector_function("logit")
@in_double
def logit(x: Lanes) -> Lanes:
    rest = 1.0 - x
    # Around 1/2 the quotient is near 1: there its distance from 1 counts, and is exact.
    central = abs(x - 0.5) < 0.25
    distance = multiply_add(abs(x), 2.0, -1.0)
    near = log1p_of(abs(distance) / at_most(x, rest)).with_sign_of(distance)
    result = choose(central, near, log(x / rest))
    return choose((x >= 0.0) & (x <= 1.0), result, float("nan"))


@vector_function("logaddexp")
def logaddexp(x: Lanes, y: Lanes) -> Lanes:
    sum_above = at_least(x, y) + log1p_of(exp(-abs(x - y)))
    # Equal infinities have no difference.
    return choose(x.equals(y), x + _LN2, sum_above)


@vector_function("logaddexp2")
def logaddexp2(x: Lanes, y: Lanes) -> Lanes:
    sum_above = multiply_add(log1p_of(exp2(-abs(x - y))), _LOG2_E, at_least(x, y))
    return choose(x.equals(y), x + 1.0, sum_above)


def _unless_zero(factor: Lanes, argument: Lanes, logarithm: Lanes) -> Lanes:
    """The product; zero where the factor is, whatever the argument, if it is a number at all."""
    zero = factor.equals(0.0) & ~argument.is_nan()
    return choose(zero, 0.0, factor * logarithm)


@vector_function("xlogy")
def xlogy(x: Lanes, y: Lanes) -> Lanes:
    return _unless_zero(x, y, log(y))


@vector_function("special_xlog1py")
@in_double
def xlog1py(x: Lanes, y: Lanes) -> Lanes:
    return _unless_zero(x, y, log1p(y))


@vector_function("special_entr")
def entr(x: Lanes) -> Lanes:
    inside = -_unless_zero(x, x, log(x))
    return choose(x < 0.0, -INFINITY, inside)
