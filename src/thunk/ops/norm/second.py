"""The gradients of normalisation's gradients, shared by batches, layers, groups and roots.

Enters: operands shaped so that they broadcast, and the dimensions that were averaged over. Leaves:
tensors of the same shapes. Invariant: what leaves is the whole derivative by the input, also by way
of the mean and the scale, which therefore get no gradient of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thunk.ops.registry import t


@dataclass
class Normalised:
    """Operands of a normalisation: `(input - mean) * rstd * weight`."""

    input: Any
    mean: Any  # None: the input is not centred
    rstd: Any
    weight: Any  # None: one
    dims: tuple[int, ...]
    fixed: bool = False  # mean and scale are constants, not the input's own

    def output(self) -> Any:
        """The input normalised, before weight and bias."""
        centred = self.input if self.mean is None else self.input - self.mean
        return centred * self.rstd

    def average(self, value: Any) -> Any:
        """The mean over what one mean and scale serve."""
        return t.mean(value, self.dims, True)

    def slope(self, value: Any, output: Any) -> Any:
        """The derivative of `output` by the input, applied to `value`; it is symmetric."""
        return self.rstd * self.project(value, output)

    def project(self, value: Any, output: Any) -> Any:
        """`value` without its parts along `output` and, if centred, along the ones."""
        if self.fixed:
            return value
        rest = value - output * self.average(value * output)
        return rest if self.mean is None else rest - self.average(value)

    def weighed(self, value: Any) -> Any:
        return value if self.weight is None else value * self.weight


def plus(total: Any, part: Any) -> Any:
    """A sum in which None is nothing."""
    if part is None:
        return total
    return part if total is None else total + part


def second_gradients(
    norm: Normalised, grad_out: Any, to_input: Any, to_weight: Any, to_bias: Any
) -> tuple[Any, Any, Any]:
    """The gradients for `grad_out`, the input and (unreduced) the weight, given those of the three
    first gradients; None stands for no gradient."""
    output = norm.output()
    for_grad, for_input, for_weight = to_bias, None, None
    if to_input is not None:
        moved = norm.slope(to_input, output)
        for_grad = plus(for_grad, norm.weighed(moved))
        for_weight = grad_out * moved
        if not norm.fixed:
            for_input = _through_statistics(norm, norm.weighed(grad_out), to_input, output)
    if to_weight is not None:
        for_grad = plus(for_grad, to_weight * output)
        for_input = plus(for_input, norm.slope(to_weight * grad_out, output))
    return for_grad, for_input, for_weight


def _through_statistics(norm: Normalised, weighed: Any, to_input: Any, output: Any) -> Any:
    """How the first gradient of the input moves when the input moves its output and scale."""
    rstd = norm.rstd
    turned = (
        to_input * norm.average(weighed * output) + weighed * norm.average(to_input * output)
    )
    scale = norm.average(to_input * norm.project(weighed, output))
    return -rstd * norm.slope(turned, output) - rstd * rstd * output * scale


def living(input: Any, mean: Any, rstd: Any, dims: tuple[int, ...]) -> tuple[Any, Any]:
    """The saved statistics as functions of the input, for gradients of a higher order still.

    `mean` is None where the input is not centred. What the scale holds besides the variance (the
    epsilon) is a constant.
    """
    own = None if mean is None else t.mean(input, dims, True)
    centred = input if own is None else input - own
    variance = t.mean(centred * centred, dims, True)
    rest = (1 / (rstd * rstd) - variance).detach()
    return own, t.rsqrt(variance + rest)


def through_results(norm: Normalised, to_mean: Any, to_rstd: Any, count: int) -> Any:
    """What gradients of the mean and the scale themselves add to the input's."""
    added = None
    if to_mean is not None:
        added = (to_mean / count).expand(norm.input._spec.shape)
    if to_rstd is not None:
        added = plus(added, -(to_rstd * norm.rstd * norm.rstd / count) * norm.output())
    return added
