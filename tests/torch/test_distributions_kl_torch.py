"""Divergences between all pairs of families that torch knows, and how a rule is chosen."""

from __future__ import annotations

from typing import Any

import pytest
from tests.torch.distribution_cases import CASES, LIBRARIES, Maker, assert_close, outcome
from torch.distributions.kl import _KL_REGISTRY as THEIRS

import thunk
from thunk.distributions.kl import _KL_REGISTRY as OURS

# Where torch answers infinity although q allows all that p gives.
WRONG_IN_TORCH = {("ContinuousBernoulli", "Uniform"), ("Uniform", "ContinuousBernoulli")}

FIRST = {
    "Bernoulli": "Bernoulli", "Beta": "Beta", "Binomial": "Binomial", "Categorical": "Categorical",
    "Cauchy": "Cauchy", "ContinuousBernoulli": "ContinuousBernoulli", "Dirichlet": "Dirichlet",
    "Exponential": "Exponential", "Gamma": "Gamma", "Geometric": "Geometric", "Gumbel": "Gumbel",
    "HalfNormal": "HalfNormal", "Independent": "Independent", "Laplace": "Laplace",
    "LowRankMultivariateNormal": "LowRankMultivariateNormal",
    "MultivariateNormal": "MultivariateNormal", "Normal": "Normal",
    "OneHotCategorical": "OneHotCategorical", "Pareto": "Pareto", "Poisson": "Poisson",
    "TransformedDistribution": "LogNormal", "Uniform": "Uniform",
}  # fmt: skip

# A second distribution of each family, with other parameters and broadcasting beside the first.
SECOND: dict[str, Any] = {
    "Bernoulli": lambda m: m.d.Bernoulli(m([0.4, 0.9, 0.5])),
    "Beta": lambda m: m.d.Beta(m([2.0, 0.6, 1.5]), m([1.0, 3.0, 0.5])),
    "Binomial": lambda m: m.d.Binomial(6, m([0.5, 0.5, 0.2])),
    "Categorical": lambda m: m.d.Categorical(m([0.1, 0.3, 0.6])),
    "Cauchy": lambda m: m.d.Cauchy(m(0.3), m([1.5, 0.4, 2.0])),
    "ContinuousBernoulli": lambda m: m.d.ContinuousBernoulli(m([0.6, 0.3, 0.8])),
    "Dirichlet": lambda m: m.d.Dirichlet(m([1.0, 2.0, 0.4])),
    "Exponential": lambda m: m.d.Exponential(m([0.7, 2.0, 1.0])),
    "Gamma": lambda m: m.d.Gamma(m([1.5, 0.8, 4.0]), m([1.0, 2.0, 0.5])),
    "Geometric": lambda m: m.d.Geometric(m([0.5, 0.3, 0.7])),
    "Gumbel": lambda m: m.d.Gumbel(m([0.5, -1.0, 0.0]), m([3.0, 4.0, 5.0])),
    "HalfNormal": lambda m: m.d.HalfNormal(m([1.0, 0.5, 2.0])),
    "Independent": lambda m: m.d.Independent(m.d.Normal(m([0.0, 1.0, 2.0]), m([[1.0], [3.0]])), 1),
    "Laplace": lambda m: m.d.Laplace(m([0.4, -0.3, 0.0]), m([1.0, 2.0, 0.7])),
    "LowRankMultivariateNormal": lambda m: m.d.LowRankMultivariateNormal(
        m([0.0, 0.5, 1.0]), m([[0.3], [0.2], [0.9]]), m([1.0, 0.7, 0.4])
    ),
    "MultivariateNormal": lambda m: m.d.MultivariateNormal(
        m([[0.5, 0.0]]), scale_tril=m([[0.8, 0.0], [-0.3, 1.2]])
    ),
    "Normal": lambda m: m.d.Normal(m([0.5, -1.0, 0.1]), m([1.0, 2.0, 0.6])),
    "OneHotCategorical": lambda m: m.d.OneHotCategorical(m([0.3, 0.3, 0.4])),
    "Pareto": lambda m: m.d.Pareto(m([0.5, 2.5, 0.2]), m([1.2, 2.5, 2.2])),
    "Poisson": lambda m: m.d.Poisson(m([1.0, 2.0, 5.0])),
    "TransformedDistribution": lambda m: m.d.LogNormal(m([0.5, -1.0, 0.1]), m([1.0, 2.0, 0.6])),
    "Uniform": lambda m: m.d.Uniform(m([-3.0, 0.1, -1.0]), m([4.0, 5.0, 0.9])),
}

PAIRS = sorted(
    (p.__name__, q.__name__) for p, q in THEIRS if p.__name__ != "ExponentialFamily"
)


def test_the_same_pairs_have_rules() -> None:
    assert sorted((p.__name__, q.__name__) for p, q in OURS) == sorted(
        (p.__name__, q.__name__) for p, q in THEIRS
    )


def first_of(name: str, maker: Maker) -> Any:
    if name == "LowRankMultivariateNormal":
        return CASES[name](maker)
    if name == "Beta":
        return maker.d.Beta(maker([0.5, 2.0, 3.0]), maker([1.5, 1.0, 0.8]))
    if name == "Uniform":
        return maker.d.Uniform(maker([0.2, 0.3, -1.0]), maker([0.7, 0.6, 3.0]))
    if name == "Pareto":
        return maker.d.Pareto(maker([1.0, 2.0, 0.5]), maker([0.8, 1.5, 3.0]))
    return CASES[FIRST[name]](maker)


@pytest.mark.parametrize("name_p, name_q", PAIRS)
def test_divergences_and_their_gradients(name_p: str, name_q: str) -> None:
    results = []
    for library in LIBRARIES:
        maker = Maker(library)
        p = first_of(name_p, maker)
        q = SECOND[name_q](maker)
        if {name_p, name_q} == {"MultivariateNormal", "LowRankMultivariateNormal"}:
            both_sides = {"MultivariateNormal": p, "LowRankMultivariateNormal": q}
            three = maker.d.MultivariateNormal(
                maker([1.0, 0.0, -1.0]), scale_tril=maker([[1, 0, 0], [0.2, 0.9, 0], [0, 0.3, 2]])
            )
            assert both_sides
            p, q = (three, q) if name_p == "MultivariateNormal" else (p, three)
        found = library.distributions.kl_divergence(p, q)
        finite = found[library.isfinite(found)]
        if finite.numel() and finite.requires_grad:
            finite.sum().backward()
        results.append((found, [each.grad for each in maker.leaves]))
    (theirs, slopes), (ours, own) = results
    if (name_p, name_q) in WRONG_IN_TORCH:
        assert ours.isfinite().any()
        return
    wanted = theirs.expand(ours.shape) if theirs.isinf().all() else theirs
    assert_close(ours, wanted, rtol=1e-7, atol=1e-9)
    for want, got in zip(slopes, own, strict=True):
        if want is not None and not want.isnan().any():
            assert_close(got, want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "p, q", [("Uniform", "ContinuousBernoulli"), ("ContinuousBernoulli", "Uniform")]
)
def test_infinite_only_outside_of_the_support(p: str, q: str) -> None:
    """Against the mean of log p - log q over evenly spread ranks."""
    d = thunk.distributions
    ranks = (thunk.arange(4000, dtype=thunk.float64) + 0.5) / 4000
    for low, high in ((0.0, 1.0), (0.2, 0.9)):
        made = {
            "Uniform": d.Uniform(thunk.tensor(low).double(), thunk.tensor(high).double()),
            "ContinuousBernoulli": d.ContinuousBernoulli(thunk.tensor(0.3).double()),
        }
        found = d.kl_divergence(made[p], made[q])
        if p == "ContinuousBernoulli" and (low, high) != (0.0, 1.0):
            assert found == float("inf")
            continue
        samples = made[p].icdf(ranks)
        mean = (made[p].log_prob(samples) - made[q].log_prob(samples)).mean()
        assert found.item() == pytest.approx(mean.item(), abs=1e-4)


def test_families_without_a_rule_use_bregmans_divergence() -> None:
    results = []
    for library in LIBRARIES:
        maker = Maker(library)
        d = library.distributions

        class Family(d.Normal):  # type: ignore[misc, name-defined]
            pass

        d.register_kl(Family, Family)(
            dict(d.kl._KL_REGISTRY)[d.ExponentialFamily, d.ExponentialFamily]
        )
        p, q = Family(maker([0.0, 1.0]), maker(2.0)), Family(maker([0.5, -1.0]), maker(1.0))
        results.append(d.kl_divergence(p, q))
        wanted = d.kl_divergence(d.Normal(p.loc, p.scale), d.Normal(q.loc, q.scale))
        assert_close(results[-1], wanted)
    assert_close(results[1], results[0])


def test_rules_of_users_and_missing_ones() -> None:
    for library in LIBRARIES:
        d = library.distributions

        class One(d.Normal):  # type: ignore[misc, name-defined]
            pass

        class Two(One):
            pass

        @d.register_kl(One, d.Normal)
        def _first(p: Any, q: Any) -> str:
            return "first"

        @d.register_kl(d.Normal, Two)
        def _second(p: Any, q: Any) -> str:
            return "second"

        assert d.kl_divergence(Two(0.0, 1.0), One(0.0, 1.0)) == "first"
        assert d.kl_divergence(d.Normal(0.0, 1.0), Two(0.0, 1.0)) == "second"
        with pytest.warns(RuntimeWarning, match="Ambiguous"):
            d.kl_divergence(One(0.0, 1.0), Two(0.0, 1.0))
        with pytest.raises(NotImplementedError):
            d.kl_divergence(d.Normal(0.0, 1.0), d.VonMises(0.0, 1.0))
        with pytest.raises(TypeError):
            d.register_kl(3, d.Normal)


def test_refusals() -> None:
    kinds = []
    for library in LIBRARIES:
        maker = Maker(library)
        d = library.distributions
        normal = d.MultivariateNormal(maker([0.0, 0.0]), maker([[1.0, 0.0], [0.0, 1.0]]))
        other = d.MultivariateNormal(maker([0.0]), maker([[1.0]]))
        logs = d.TransformedDistribution(d.Normal(0.0, 1.0), d.TanhTransform())
        kinds.append(
            [
                outcome(lambda d=d, a=normal, b=other: d.kl_divergence(a, b)),
                outcome(lambda d=d, a=logs: d.kl_divergence(a, d.LogNormal(0.0, 1.0))),
                outcome(
                    lambda d=d, m=maker: d.kl_divergence(
                        d.Binomial(3, m([0.5])), d.Binomial(4, m([0.5]))
                    )
                ),
                outcome(
                    lambda d=d, m=maker: d.kl_divergence(
                        d.Independent(d.Normal(m([0.0]), 1.0), 1),
                        d.Independent(d.Normal(m([0.0]), 1.0), 0),
                    )
                ),
            ]
        )
    assert kinds[1] == kinds[0]
    assert all(isinstance(each, type) for each in kinds[0])


def test_impossible_events_weigh_nothing() -> None:
    results = []
    for library in LIBRARIES:
        d = library.distributions
        sure, other = library.tensor([1.0, 0.0]), library.tensor([0.5, 0.5])
        results.append(
            [
                d.kl_divergence(d.Categorical(sure), d.Categorical(other)).item(),
                d.kl_divergence(d.Categorical(other), d.Categorical(sure)).item(),
                d.kl_divergence(d.Bernoulli(1.0), d.Bernoulli(0.5)).item(),
                d.kl_divergence(d.Bernoulli(0.5), d.Bernoulli(0.0)).item(),
                *d.kl_divergence(d.Binomial(3, other), d.Binomial(2, other)).tolist(),
            ]
        )
    assert results[1] == pytest.approx(results[0], rel=1e-5)


