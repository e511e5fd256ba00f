"""Distributions for both libraries: how each is made, and what its methods return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import torch

import thunk

LIBRARIES = (torch, thunk)


class Maker:
    """Parameters in one library, as leaves that want gradients."""

    def __init__(self, library: Any, dtype: str = "float64") -> None:
        self.library = library
        self.d = library.distributions
        self.dtype = getattr(library, dtype)
        self.leaves: list[Any] = []

    def __call__(self, value: Any) -> Any:
        leaf = self.library.tensor(value, dtype=self.dtype, requires_grad=True)
        self.leaves.append(leaf)
        return leaf

    def constant(self, value: Any) -> Any:
        return self.library.tensor(value, dtype=self.dtype)


LOC, SCALE = [[-0.5, 0.0, 2.0], [1.0, 0.3, -2.0]], [[0.5], [2.0]]
POSITIVE = [[0.4, 1.0, 3.0], [7.0, 2.5, 0.9]]
SHARES = [[0.2, 0.5, 0.3], [0.7, 0.05, 0.25]]
PROBS = [0.2, 0.55, 0.9]
LOGITS = [-1.0, 0.3, 2.0]
ROWS = [[0.5, -1.0, 0.2], [1.5, 0.0, 0.3]]
TRIL = [[1.0, 0.0], [0.4, 0.7]]
COVARIANCES = [[[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 0.5]]]

CASES: dict[str, Callable[[Maker], Any]] = {
    "Normal": lambda m: m.d.Normal(m(LOC), m(SCALE)),
    "Normal of numbers": lambda m: m.d.Normal(0, 2.0),
    "Uniform": lambda m: m.d.Uniform(m([-1.0, 0.0]), m([0.5, 3.0])),
    "Laplace": lambda m: m.d.Laplace(m(LOC), m(SCALE)),
    "Cauchy": lambda m: m.d.Cauchy(m(LOC), m(SCALE)),
    "Gumbel": lambda m: m.d.Gumbel(m(LOC), m(SCALE)),
    "StudentT": lambda m: m.d.StudentT(m([0.7, 1.5, 5.0]), m([0.0, 1.0, -1.0]), m([1.0, 2.0, 0.5])),
    "Gamma": lambda m: m.d.Gamma(m(POSITIVE), m(SCALE)),
    "Chi2": lambda m: m.d.Chi2(m([0.5, 3.0, 8.0])),
    "InverseGamma": lambda m: m.d.InverseGamma(m([0.8, 1.5, 5.0]), m(1.7)),
    "Exponential": lambda m: m.d.Exponential(m(POSITIVE)),
    "Weibull": lambda m: m.d.Weibull(m([1.0, 2.0]), m([0.8, 2.5])),
    "Pareto": lambda m: m.d.Pareto(m([1.0, 2.0, 0.5]), m([0.8, 1.5, 3.0])),
    "GeneralizedPareto": lambda m: m.d.GeneralizedPareto(
        m([0.0, 1.0, -1.0]), m([1.0, 2.0, 0.5]), m([0.3, 0.0, -0.4])
    ),
    "Beta": lambda m: m.d.Beta(m(POSITIVE), m(SCALE)),
    "Kumaraswamy": lambda m: m.d.Kumaraswamy(m([0.5, 2.0, 3.0]), m([1.5, 2.0, 0.7])),
    "Dirichlet": lambda m: m.d.Dirichlet(m(POSITIVE)),
    "FisherSnedecor": lambda m: m.d.FisherSnedecor(m([1.5, 4.0, 6.0]), m([3.0, 5.0, 1.0])),
    "HalfNormal": lambda m: m.d.HalfNormal(m(POSITIVE)),
    "HalfCauchy": lambda m: m.d.HalfCauchy(m(POSITIVE)),
    "LogNormal": lambda m: m.d.LogNormal(m(LOC), m(SCALE)),
    "LogisticNormal": lambda m: m.d.LogisticNormal(m(LOC), m(SCALE)),
    "VonMises": lambda m: m.d.VonMises(m([0.5, -2.0]), m([0.7, 5.0])),
    "Bernoulli": lambda m: m.d.Bernoulli(m(PROBS)),
    "Bernoulli by logits": lambda m: m.d.Bernoulli(logits=m(LOGITS)),
    "ContinuousBernoulli": lambda m: m.d.ContinuousBernoulli(m([0.2, 0.4999, 0.9])),
    "ContinuousBernoulli by logits": lambda m: m.d.ContinuousBernoulli(logits=m(LOGITS)),
    "Geometric": lambda m: m.d.Geometric(m(PROBS)),
    "Geometric by logits": lambda m: m.d.Geometric(logits=m(LOGITS)),
    "Binomial": lambda m: m.d.Binomial(6, m(PROBS)),
    "Binomial of tensors": lambda m: m.d.Binomial(m.constant([[3.0], [8.0]]), logits=m(LOGITS)),
    "NegativeBinomial": lambda m: m.d.NegativeBinomial(m([1.0, 4.0, 2.5]), m(PROBS)),
    "NegativeBinomial by logits": lambda m: m.d.NegativeBinomial(3.0, logits=m(LOGITS)),
    "Poisson": lambda m: m.d.Poisson(m(POSITIVE)),
    "Categorical": lambda m: m.d.Categorical(m(SHARES)),
    "Categorical by logits": lambda m: m.d.Categorical(logits=m(ROWS)),
    "OneHotCategorical": lambda m: m.d.OneHotCategorical(m(SHARES)),
    "OneHotCategoricalStraightThrough": lambda m: m.d.OneHotCategoricalStraightThrough(
        logits=m(ROWS)
    ),
    "Multinomial": lambda m: m.d.Multinomial(5, m(SHARES[0])),
    "Multinomial by logits": lambda m: m.d.Multinomial(4, logits=m(ROWS)),
    "RelaxedBernoulli": lambda m: m.d.RelaxedBernoulli(m(0.7), m(PROBS)),
    "RelaxedOneHotCategorical": lambda m: m.d.RelaxedOneHotCategorical(m(0.7), logits=m(ROWS)),
    "MultivariateNormal": lambda m: m.d.MultivariateNormal(m([1.0, -1.0]), m(COVARIANCES)),
    "MultivariateNormal by tril": lambda m: m.d.MultivariateNormal(
        m([[1.0, -1.0], [0.0, 0.0], [2.0, 1.0]]), scale_tril=m(TRIL)
    ),
    "MultivariateNormal by precision": lambda m: m.d.MultivariateNormal(
        m([1.0, -1.0]), precision_matrix=m(COVARIANCES[0])
    ),
    "LowRankMultivariateNormal": lambda m: m.d.LowRankMultivariateNormal(
        m([[1.0, -1.0, 0.5]]), m([[1.0], [0.5], [-0.3]]), m([0.5, 1.0, 2.0])
    ),
    "LKJCholesky": lambda m: m.d.LKJCholesky(3, m([0.7, 2.0])),
    "Independent": lambda m: m.d.Independent(m.d.Normal(m(LOC), m(SCALE)), 1),
    "Independent of Bernoullis": lambda m: m.d.Independent(m.d.Bernoulli(m(SHARES)), 2),
    "MixtureSameFamily": lambda m: m.d.MixtureSameFamily(
        m.d.Categorical(m(PROBS)), m.d.Normal(m(LOC[0]), m([1.0, 0.3, 2.0]))
    ),
    "MixtureSameFamily of vectors": lambda m: m.d.MixtureSameFamily(
        m.d.Categorical(m([0.3, 0.7])), m.d.Independent(m.d.Normal(m(LOC), m(SCALE)), 1)
    ),
    "TransformedDistribution": lambda m: m.d.TransformedDistribution(
        m.d.Normal(m(LOC), m(SCALE)),
        [m.d.AffineTransform(m(0.5), m([-2.0, 1.0, 3.0])), m.d.SigmoidTransform()],
    ),
    "TransformedDistribution of vectors": lambda m: m.d.TransformedDistribution(
        m.d.Normal(m(LOC[0]), m(1.0)), m.d.StickBreakingTransform()
    ),
}  # fmt: skip


# Torch's generalised Pareto refuses double precision.
SINGLE = ("GeneralizedPareto",)
# How closely torch computes: Bessel functions by polynomials, factorials of counts in float32.
ROUGH = {"VonMises": 1e-6, "Multinomial": 1e-7, "Multinomial by logits": 1e-7}


def limit(name: str) -> float:
    """The relative difference allowed."""
    return 1e-5 if name in SINGLE else ROUGH.get(name, 1e-9)


def both(name: str, dtype: str = "") -> list[tuple[Maker, Any]]:
    """The distribution of case `name` in torch and here."""
    made = []
    dtype = dtype or ("float32" if name in SINGLE else "float64")
    for library in LIBRARIES:
        maker = Maker(library, dtype)
        made.append((maker, CASES[name](maker)))
    return made


def array(value: Any) -> Any:
    return value.detach().numpy()


def assert_close(found: Any, wanted: Any, rtol: float = 1e-9, atol: float = 1e-11) -> None:
    """Shape, dtype and values of tensors of either library."""
    assert tuple(found.shape) == tuple(wanted.shape)
    assert str(found.dtype) == str(wanted.dtype)
    numpy.testing.assert_allclose(array(found), array(wanted), rtol=rtol, atol=atol)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the type of what it raises."""
    try:
        return call()
    except Exception as error:
        return type(error)
