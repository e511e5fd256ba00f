"""Divergences of distributions of different families: entropy of one against moments in the other.

The divergence is -entropy(p) - E_p[log q], and what log q needs of p are a few expectations. It is
infinite where p has samples outside the support of q.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from thunk.distributions.bernoulli import Bernoulli
from thunk.distributions.beta import Beta
from thunk.distributions.binomial import Binomial
from thunk.distributions.continuous_bernoulli import ContinuousBernoulli
from thunk.distributions.exponential import Exponential
from thunk.distributions.gamma import Gamma
from thunk.distributions.gumbel import Gumbel
from thunk.distributions.kl.registry import register_kl
from thunk.distributions.laplace import Laplace
from thunk.distributions.normal import Normal
from thunk.distributions.pareto import Pareto
from thunk.distributions.poisson import Poisson
from thunk.distributions.uniform import Uniform
from thunk.distributions.utils import euler_constant
from thunk.ops.registry import t
from thunk.tensor.queries import broadcast_shapes

_By = dict[type[Any], Callable[..., Any]]


def _spread_log(low: Any, high: Any) -> Any:
    """The mean of log x over an interval."""
    return (t.xlogy(high, high) - t.xlogy(low, low)) / (high - low) - 1


# E[log x]
_LOG: _By = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -euler_constant - p.rate.log(),
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _spread_log(p.low, p.high),
}
# E[log(1 - x)]
_LOG_REST: _By = {Uniform: lambda p: _spread_log(1 - p.high, 1 - p.low)}
# E[exp(-x / s)]
_FADED: _By = {
    Exponential: lambda p, s: p.rate / (p.rate + 1 / s),
    Gamma: lambda p, s: (1 + (p.rate * s).reciprocal()).pow(-p.concentration),
    Normal: lambda p, s: t.exp(0.5 * (p.scale / s).pow(2) - p.loc / s),
    Uniform: lambda p, s: s / (p.high - p.low) * (t.exp(-p.low / s) - t.exp(-p.high / s)),
}


def _of(table: _By, distribution: Any) -> Callable[..., Any]:
    """The entry for the family that a distribution belongs to."""
    return next(entry for kind, entry in table.items() if isinstance(distribution, kind))


def _mean(p: Any) -> Any:
    """E[x], where it is finite."""
    return p.alpha * p.scale / (p.alpha - 1) if isinstance(p, Pareto) else p.mean


def _square(p: Any) -> Any:
    """E[x^2], where it is finite."""
    if isinstance(p, Pareto):
        return p.alpha * p.scale.pow(2) / (p.alpha - 2)
    return p.variance + p.mean.pow(2)


def _in_normal(p: Any, q: Any) -> Any:
    gap = _square(p) - 2 * q.loc * _mean(p) + q.loc.pow(2)
    return q.scale.log() + 0.5 * math.log(2 * math.pi) + gap / (2 * q.scale.pow(2))


def _in_exponential(p: Any, q: Any) -> Any:
    return q.rate * _mean(p) - q.rate.log()


def _in_gamma(p: Any, q: Any) -> Any:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return normalizer - (q.concentration - 1) * _of(_LOG, p)(p) + q.rate * _mean(p)


def _in_gumbel(p: Any, q: Any) -> Any:
    faded = t.exp(q.loc / q.scale) * _of(_FADED, p)(p, q.scale)
    return q.scale.log() + (p.mean - q.loc) / q.scale + faded


def _in_pareto(p: Any, q: Any) -> Any:
    return (q.alpha + 1) * _of(_LOG, p)(p) - q.alpha.log() - q.alpha * q.scale.log()


def _in_beta(p: Any, q: Any) -> Any:
    a, b = q.concentration1, q.concentration0
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return normalizer - (a - 1) * _of(_LOG, p)(p) - (b - 1) * _of(_LOG_REST, p)(p)


def _in_continuous_bernoulli(p: Any, q: Any) -> Any:
    return -p.mean * q.logits - t.log1p(-q.probs) - q._log_norm()


def _in_uniform(p: Any, q: Any) -> Any:
    return (q.high - q.low).log()


# -E_p[log q] by the family of q
_CROSS: _By = {
    Beta: _in_beta, ContinuousBernoulli: _in_continuous_bernoulli, Exponential: _in_exponential,
    Gamma: _in_gamma, Gumbel: _in_gumbel, Normal: _in_normal, Pareto: _in_pareto,
    Uniform: _in_uniform,
}  # fmt: skip

_PAIRS: dict[type[Any], tuple[type[Any], ...]] = {
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Pareto, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Pareto, Uniform),
    Exponential: (Beta, ContinuousBernoulli, Gamma, Gumbel, Normal, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Exponential, Gumbel, Normal, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Normal, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Normal, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}


def _bounds(distribution: Any) -> tuple[Any, Any]:
    """Between what samples lie; numbers where that is the same for all parameters."""
    if isinstance(distribution, Uniform):
        return distribution.low, distribution.high
    if isinstance(distribution, Pareto):
        return distribution.scale, math.inf
    if isinstance(distribution, (Beta, ContinuousBernoulli)):
        return 0.0, 1.0
    if isinstance(distribution, (Exponential, Gamma)):
        return 0.0, math.inf
    return -math.inf, math.inf


def _infinite(p: Any, q: Any) -> Any:
    shape = broadcast_shapes(p.batch_shape, q.batch_shape)
    return p.mean.new_full(shape, math.inf)


def _moments_missing(p: Any, q: Any) -> Any:
    """Where an expectation that log q needs is infinite."""
    if not isinstance(p, Pareto) or isinstance(q, Uniform):
        return False
    return p.alpha <= (2 if isinstance(q, Normal) else 1)


def _is(bound: Any, number: float) -> bool:
    return isinstance(bound, float) and bound == number


def _between_families(p: Any, q: Any) -> Any:
    (low, high), (least, most) = _bounds(p), _bounds(q)
    past_left = _is(low, -math.inf) and not _is(least, -math.inf)
    past_right = _is(high, math.inf) and not _is(most, math.inf)
    past_scale = _is(low, 0.0) and isinstance(q, Pareto)  # whose scale is above 0
    if past_left or past_right or past_scale:
        return _infinite(p, q)
    found = _of(_CROSS, q)(p, q) - p.entropy()
    infinite = _moments_missing(p, q)
    for outside in (low < least, high > most, infinite):
        if outside is not False:
            found = t.where(outside, math.inf, found)
    return found


for _type_p, _others in _PAIRS.items():
    for _type_q in _others:
        register_kl(_type_p, _type_q)(_between_families)


@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def _poisson(p: Any, q: Any) -> Any:
    return _infinite(p, q)


@register_kl(Bernoulli, Poisson)
def _bernoulli(p: Any, q: Any) -> Any:
    return q.rate - p.probs * q.rate.log() - p.entropy()


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    way = p.loc - q.loc
    steps = way / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * t.exp(-0.5 * steps.pow(2))
    distance = near + way * t.erf(math.sqrt(0.5) * steps)  # E|x - loc|
    return (2 * q.scale).log() + distance / q.scale - p.entropy()
