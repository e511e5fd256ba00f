"""Divergences of distributions of the same family, in closed form."""

from __future__ import annotations

import math
from typing import Any

from thunk.autograd.api import grad
from thunk.distributions.bernoulli import Bernoulli
from thunk.distributions.beta import Beta
from thunk.distributions.binomial import Binomial
from thunk.distributions.categorical import Categorical
from thunk.distributions.cauchy import Cauchy
from thunk.distributions.continuous_bernoulli import ContinuousBernoulli
from thunk.distributions.dirichlet import Dirichlet
from thunk.distributions.exp_family import ExponentialFamily
from thunk.distributions.exponential import Exponential
from thunk.distributions.gamma import Gamma
from thunk.distributions.geometric import Geometric
from thunk.distributions.gumbel import Gumbel
from thunk.distributions.half_normal import HalfNormal
from thunk.distributions.independent import Independent
from thunk.distributions.kl.registry import kl_divergence, register_kl
from thunk.distributions.laplace import Laplace
from thunk.distributions.normal import Normal
from thunk.distributions.one_hot_categorical import OneHotCategorical
from thunk.distributions.pareto import Pareto
from thunk.distributions.poisson import Poisson
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.uniform import Uniform
from thunk.distributions.utils import _sum_rightmost, euler_constant
from thunk.ops.registry import t


def _weighed(probs: Any, gap: Any, other: Any) -> Any:
    """`probs * gap`: infinite where only the other is impossible, 0 where `probs` is 0."""
    found = t.where(other == 0, math.inf, probs * gap)
    return t.where(probs == 0, 0.0, found)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    yes = t.softplus(-q.logits) - t.softplus(-p.logits)
    no = t.softplus(q.logits) - t.softplus(p.logits)
    return _weighed(p.probs, yes, q.probs) + _weighed(1 - p.probs, no, 1 - q.probs)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    return _weighed(p.probs, p.logits - q.logits, q.probs).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return t.where(p.total_count > q.total_count, math.inf, p.total_count * one)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - t.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    ours, theirs = p.concentration, q.concentration
    total = ours.sum(-1)
    normalizers = total.lgamma() - theirs.sum(-1).lgamma()
    normalizers = normalizers - (ours.lgamma() - theirs.lgamma()).sum(-1)
    logs = ours.digamma() - total.digamma().unsqueeze(-1)
    return normalizers + ((ours - theirs) * logs).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    ours = p._log_norm() + t.log1p(-p.probs)
    theirs = q._log_norm() + t.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + ours - theirs


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    return (
        q.concentration * (p.rate / q.rate).log()
        + t.lgamma(q.concentration) - t.lgamma(p.concentration)
        + (p.concentration - q.concentration) * t.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )  # fmt: skip


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    way = (p.loc - q.loc) / q.scale
    tail = t.exp((1 + ratio).lgamma() - way)
    return way - ratio.log() + tail + euler_constant * (ratio - 1) - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    way = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + way - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    way = (p.loc - q.loc).abs()
    return way / q.scale + ratio * t.exp(-way / p.scale) - 1 - ratio.log()


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    both = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return both.log() - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return t.where(p.scale < q.scale, math.inf, found)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    outside = (q.low > p.low) | (q.high < p.high)
    return t.where(outside, math.inf, ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    """Bregman's divergence of the log normalizer, for families without a rule of their own."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    ours = [each.detach().requires_grad_() for each in p._natural_params]
    theirs = q._natural_params
    normalizer = p._log_normalizer(*ours)
    slopes = grad(normalizer.sum(), ours, create_graph=True)
    result = q._log_normalizer(*theirs) - normalizer
    for one, other, slope in zip(ours, theirs, slopes, strict=True):
        result = result - _sum_rightmost((other - one) * slope, len(q.event_shape))
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL between transformed distributions: expected the same transforms, got others"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    dims = p.reinterpreted_batch_ndims
    if dims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"KL between Independent: expected the same number of dimensions, got {dims} and "
            f"{q.reinterpreted_batch_ndims}"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), dims)
