"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.utils import broadcast_all, lazy_property
from thunk.ops.registry import t
from thunk.types.dtype import bool_, float64


def _log_bessel(x: Any, order: int) -> Any:
    """The logarithm of a modified Bessel function, scaled on the way so that it stays finite."""
    scaled = t.special_i1e(x) if order else t.special_i0e(x)
    return scaled.log() + x


class VonMises(Distribution):
    """Angles around `loc`, the closer the higher the concentration."""

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real, "concentration": constraints.positive,
    }  # fmt: skip
    support: Any = constraints.real
    _parameters: ClassVar[dict[str, int]] = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`."""
        self._checked(value)
        drawn = self.concentration * t.cos(value - self.loc)
        return drawn - math.log(2 * math.pi) - _log_bessel(self.concentration, 0)

    def _proposal(self, concentration: Any) -> Any:
        """The parameter of the wrapped Cauchy distribution that samples are proposed from."""
        tau = 1 + (1 + 4 * concentration**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * concentration)
        series = 1 / concentration + concentration
        return t.where(concentration < 1e-5, series, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients; proposals are drawn until each was accepted once."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, concentration = self.loc.to(float64), self.concentration.to(float64)
            found = t.zeros(shape, dtype=float64, device=loc.device)
            done = t.zeros(shape, dtype=bool_, device=loc.device)
            proposal = self._proposal(concentration)
            while not done.all():
                rank, chance, side = t.rand((3, *shape), dtype=float64, device=loc.device).unbind()
                spread = t.cos(math.pi * rank)
                cosine = (1 + proposal * spread) / (proposal + spread)
                rate = concentration * (proposal - cosine)
                surely = rate * (2 - rate) - chance > 0
                accepted = surely | ((rate / chance).log() + 1 - rate >= 0)
                found = t.where(accepted, (side - 0.5).sign() * cosine.acos(), found)
                done = done | accepted
            angle = (found + math.pi + loc) % (2 * math.pi) - math.pi
            return angle.to(self.loc.dtype)

    @property
    def mean(self) -> Any:
        """The expected direction."""
        return self.loc

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The circular variance."""
        ratio = _log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)
        return 1 - ratio.exp()
