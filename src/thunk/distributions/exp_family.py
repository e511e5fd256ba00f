"""Distributions of the exponential family, whose entropy follows from their log normalizer."""

from __future__ import annotations

from typing import Any

from thunk.autograd.api import grad
from thunk.distributions.distribution import Distribution


class ExponentialFamily(Distribution):
    """A density `h(x) exp(<parameters, statistics(x)> - log_normalizer(parameters))`."""

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise self._missing("_natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise self._missing("_log_normalizer")

    @property
    def _mean_carrier_measure(self) -> float:
        raise self._missing("_mean_carrier_measure")

    def entropy(self) -> Any:
        """The entropy, by Bregman's divergence of the log normalizer."""
        natural = [each.detach().requires_grad_() for each in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        slopes = grad(normalizer.sum(), natural, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for param, slope in zip(natural, slopes, strict=True):
            result = result - (param * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return result
