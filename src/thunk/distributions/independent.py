"""A distribution whose last batch dimensions are dimensions of its samples."""

from __future__ import annotations

from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.utils import _sum_rightmost
from thunk.types.size import Size


class Independent(Distribution):
    """Several distributions of a batch as one, of independent parts."""

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self,
        base_distribution: Any,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch: Any = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Independent: Expected reinterpreted_batch_ndims <= "
                f"len(base_distribution.batch_shape), got {reinterpreted_batch_ndims} vs "
                f"{len(batch)}"
            )
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist: Any = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        event = Size((*batch[cut:], *base_distribution.event_shape))
        super().__init__(batch[:cut], event, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a batch of another shape; nothing is copied."""
        new = self._get_checked_instance(Independent, _instance)
        batch = Size(batch_shape)
        dims = self.reinterpreted_batch_ndims
        new.base_dist = self.base_dist.expand((*batch, *tuple(self._event_shape)[:dims]))
        new.reinterpreted_batch_ndims = dims
        return self._finish_expand(new, batch)

    @property
    def has_rsample(self) -> Any:
        """Whether samples have gradients."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> Any:
        """Whether all values can be listed."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        """Where samples lie."""
        dims = self.reinterpreted_batch_ndims
        own = self.base_dist.support
        return constraints.independent(own, dims) if dims else own

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability (density) of `value`."""
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values, if no dimension was taken over."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError(
                "Independent: Enumeration over cartesian product is not implemented"
            )
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
