"""Probability distributions: samples, densities, moments and divergences."""

from thunk.distributions import constraints, kl, transforms, utils
from thunk.distributions.bernoulli import Bernoulli
from thunk.distributions.beta import Beta
from thunk.distributions.binomial import Binomial
from thunk.distributions.categorical import Categorical
from thunk.distributions.cauchy import Cauchy
from thunk.distributions.chi2 import Chi2
from thunk.distributions.constraint_registry import biject_to, transform_to
from thunk.distributions.continuous_bernoulli import ContinuousBernoulli
from thunk.distributions.dirichlet import Dirichlet
from thunk.distributions.distribution import Distribution
from thunk.distributions.exp_family import ExponentialFamily
from thunk.distributions.exponential import Exponential
from thunk.distributions.fishersnedecor import FisherSnedecor
from thunk.distributions.gamma import Gamma
from thunk.distributions.generalized_pareto import GeneralizedPareto
from thunk.distributions.geometric import Geometric
from thunk.distributions.gumbel import Gumbel
from thunk.distributions.half_cauchy import HalfCauchy
from thunk.distributions.half_normal import HalfNormal
from thunk.distributions.independent import Independent
from thunk.distributions.inverse_gamma import InverseGamma
from thunk.distributions.kl import kl_divergence, register_kl
from thunk.distributions.kumaraswamy import Kumaraswamy
from thunk.distributions.laplace import Laplace
from thunk.distributions.lkj_cholesky import LKJCholesky
from thunk.distributions.log_normal import LogNormal
from thunk.distributions.logistic_normal import LogisticNormal
from thunk.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from thunk.distributions.mixture_same_family import MixtureSameFamily
from thunk.distributions.multinomial import Multinomial
from thunk.distributions.multivariate_normal import MultivariateNormal
from thunk.distributions.negative_binomial import NegativeBinomial
from thunk.distributions.normal import Normal
from thunk.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from thunk.distributions.pareto import Pareto
from thunk.distributions.poisson import Poisson
from thunk.distributions.relaxed_bernoulli import RelaxedBernoulli
from thunk.distributions.relaxed_categorical import RelaxedOneHotCategorical
from thunk.distributions.studentT import StudentT
from thunk.distributions.transformed_distribution import TransformedDistribution
from thunk.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from thunk.distributions.uniform import Uniform
from thunk.distributions.von_mises import VonMises
from thunk.distributions.weibull import Weibull

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform",
    "Categorical", "Cauchy", "Chi2", "ComposeTransform", "ContinuousBernoulli",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet", "Distribution",
    "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
    "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "IndependentTransform", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace",
    "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "LowerCholeskyTransform",
    "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson",
    "PositiveDefiniteTransform", "PowerTransform", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT",
    "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "VonMises", "Weibull",
    "biject_to", "constraints", "identity_transform", "kl", "kl_divergence", "register_kl",
    "transform_to", "transforms", "utils",
]  # fmt: skip
