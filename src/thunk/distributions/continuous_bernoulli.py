"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions import constraints
from thunk.distributions.exp_family import ExponentialFamily
from thunk.distributions.odds import Odds
from thunk.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs
from thunk.ops.registry import t


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Numbers in [0, 1] of density proportional to `probs ** x * (1 - probs) ** (1 - x)`.

    Between `lims` formulas are replaced by their series around a half, where they are 0 / 0.
    """

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support: Any = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters: ClassVar[dict[str, int]] = {"probs": 0, "logits": 0}
    _kept = ("_given", "_lims")

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._take_odds(probs, logits)
        if probs is not None:
            if validate_args and not constraints.unit_interval.check(self.probs).all():
                raise ValueError(
                    "ContinuousBernoulli: expected parameter probs in [0, 1], got invalid "
                    f"values:\n{self.probs}"
                )
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        """The parameter that is the probability of 1 in the discrete case."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Any:
        """`probs`, with those too close to a half moved off it."""
        return t.where(self._stable(), self.probs, self._lims[0])

    def _log_norm(self) -> Any:
        probs = self._cut_probs()
        below = probs <= 0.5
        gap = t.where(below, t.log1p(-2.0 * t.where(below, probs, 0.0)),
                      t.log(2.0 * t.where(below, 1.0, probs) - 1.0))  # fmt: skip
        exact = t.log(t.abs(t.log1p(-probs) - t.log(probs))) - gap
        square = t.pow(self.probs - 0.5, 2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square
        return t.where(self._stable(), exact, series)

    @property
    def mean(self) -> Any:
        """The expected value."""
        probs = self._cut_probs()
        exact = probs / (2.0 * probs - 1.0) + 1.0 / (t.log1p(-probs) - t.log(probs))
        way = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * way.pow(2)) * way
        return t.where(self._stable(), exact, series)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        probs = self._cut_probs()
        odds = t.log1p(-probs) - t.log(probs)
        exact = probs * (probs - 1.0) / t.pow(1.0 - 2.0 * probs, 2) + 1.0 / t.pow(odds, 2)
        square = t.pow(self.probs - 0.5, 2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square
        return t.where(self._stable(), exact, series)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(t.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        discrete = -t.binary_cross_entropy_with_logits(logits, value, reduction=0)
        return discrete + self._log_norm()

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        self._checked(value)
        probs = self._cut_probs()
        powers = t.pow(probs, value) * t.pow(1.0 - probs, 1.0 - value)
        exact = (powers + probs - 1.0) / (2.0 * probs - 1.0)
        found = t.where(self._stable(), exact, value)
        return t.where(value <= 0.0, 0.0, t.where(value >= 1.0, 1.0, found))

    def icdf(self, value: Any) -> Any:
        """The value up to which samples lie with probability `value`."""
        probs = self._cut_probs()
        failing = t.log1p(-probs)
        moved = t.log1p(-probs + value * (2.0 * probs - 1.0)) - failing
        return t.where(self._stable(), moved / (t.log(probs) - failing), value)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        failing, succeeding = t.log1p(-self.probs), t.log(self.probs)
        return self.mean * (failing - succeeding) - self._log_norm() - failing

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        (x,) = natural_params
        low, high = (limit - 0.5 for limit in self._lims)
        stable = (x <= low) | (x > high)
        cut = t.where(stable, x, low)
        exact = t.log(t.abs(t.expm1(cut))) - t.log(t.abs(cut))
        return t.where(stable, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
