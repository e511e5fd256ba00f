"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions import constraints
from thunk.distributions.categorical import Categorical
from thunk.distributions.distribution import Distribution
from thunk.ops.registry import t
from thunk.types.size import Size


class MixtureSameFamily(Distribution):
    """The last batch dimension of a distribution mixed with the weights of a `Categorical`."""

    arg_constraints: ClassVar[Any] = {}
    _kept = ("_num_component", "_event_ndims")

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "MixtureSameFamily: The Mixture distribution needs to be an instance of "
                f"Categorical, got {type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "MixtureSameFamily: The Component distribution needs to be an instance of "
                f"Distribution, got {type(component_distribution).__name__}"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = _check_sizes(mixture_distribution, component_distribution)
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        batch: Any = component_distribution.batch_shape
        super().__init__(batch[:-1], event, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a batch of another shape; nothing is copied."""
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch = Size(batch_shape)
        count = self._num_component
        new._component_distribution = self._component_distribution.expand((*batch, count))
        new._mixture_distribution = self._mixture_distribution.expand(batch)
        new._num_component, new._event_ndims = count, self._event_ndims
        return self._finish_expand(new, batch)

    @constraints.dependent_property
    def support(self) -> Any:
        """Where samples lie."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of the components' numbers."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components, along the last batch dimension."""
        return self._component_distribution

    def _pad(self, value: Any) -> Any:
        """Room for the components."""
        return value.unsqueeze(-1 - self._event_ndims)

    def _weights(self) -> Any:
        """The weights, shaped to multiply the components' moments."""
        probs = self._mixture_distribution.probs
        dims = len(self._mixture_distribution.batch_shape)
        extra = 0 if dims == 1 else len(self._batch_shape) - dims
        ones = (1,) * self._event_ndims
        return probs.reshape((*probs.shape[:-1], *[1] * extra, probs.shape[-1], *ones))

    def _mixed(self, moments: Any) -> Any:
        return (self._weights() * moments).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self._mixed(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean: within components and between."""
        gap = self._component_distribution.mean - self._pad(self.mean)
        return self._mixed(self._component_distribution.variance) + self._mixed(gap.pow(2.0))

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        each = self._component_distribution.cdf(self._pad(value))
        return (each * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability (density) of `value`."""
        self._checked(value)
        each = self._component_distribution.log_prob(self._pad(value))
        weights = t.log_softmax(self._mixture_distribution.logits, -1)
        return t.logsumexp(each + weights, [-1])

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        with no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self._batch_shape)
            ones = [1] * (self._event_ndims + 1)
            places = chosen.reshape((*chosen.shape, *ones))
            places = places.repeat((*[1] * chosen.dim(), 1, *self._event_shape))
            return t.gather(samples, dim, places).squeeze(dim)

    def __repr__(self) -> str:
        parts = f"\n  {self.mixture_distribution},\n  {self.component_distribution}"
        return f"MixtureSameFamily({parts})"


def _check_sizes(mixture: Any, component: Any) -> int:
    """How many components both sides agree on."""
    weights, batch = mixture.batch_shape, component.batch_shape[:-1]
    for one, other in zip(reversed(weights), reversed(batch), strict=False):
        if one not in (1, other) and other != 1:
            raise ValueError(
                f"MixtureSameFamily: `mixture_distribution.batch_shape` ({weights}) is not "
                f"compatible with `component_distribution.batch_shape` ({batch})"
            )
    count: int = mixture.logits.shape[-1]
    if count != component.batch_shape[-1]:
        raise ValueError(
            f"MixtureSameFamily: `mixture_distribution` has {count} components, but "
            f"`component_distribution.batch_shape[-1]` is {component.batch_shape[-1]}"
        )
    return count
