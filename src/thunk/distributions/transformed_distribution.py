"""The distribution of what transforms make of another distribution's samples."""

from __future__ import annotations

import functools
import operator
from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions import constraints
from thunk.distributions.distribution import Distribution
from thunk.distributions.independent import Independent
from thunk.distributions.transforms import ComposeTransform, Transform
from thunk.distributions.utils import _sum_rightmost
from thunk.types.size import Size


class TransformedDistribution(Distribution):
    """`transforms`, one after the other, of samples of a base distribution."""

    arg_constraints: ClassVar[Any] = {}
    _parameters: ClassVar[dict[str, int]] = {}

    def __init__(
        self, base_distribution: Any, transforms: Any, validate_args: bool | None = None
    ) -> None:
        given = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(given, list) or not all(isinstance(each, Transform) for each in given):
            raise ValueError(
                f"{type(self).__name__}: transforms must be a Transform or a list of Transforms, "
                f"got {transforms!r}"
            )
        self.transforms: list[Any] = given
        whole = ComposeTransform(given)
        own_dims = len(base_distribution.event_shape)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"{type(self).__name__}: base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, got {shape}"
            )
        result = Size(whole.forward_shape(shape))
        needed = Size(whole.inverse_shape(result))
        if shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - own_dims])
        taken = whole.domain.event_dim - own_dims
        if taken > 0:
            base_distribution = Independent(base_distribution, taken)
        self.base_dist: Any = base_distribution
        grown = whole.codomain.event_dim - whole.domain.event_dim
        event_dims = max(whole.codomain.event_dim, len(self.base_dist.event_shape) + grown)
        cut = len(result) - event_dims
        super().__init__(result[:cut], result[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a batch of another shape; nothing is copied."""
        new = self._get_checked_instance(self._declaring_class(), _instance)
        batch = Size(batch_shape)
        for name in self._parameters:
            setattr(new, name, getattr(self, name).expand(batch))
        shape = batch + self._event_shape
        for transform in reversed(self.transforms):
            shape = Size(transform.inverse_shape(shape))
        own_dims = len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - own_dims])
        new.transforms = self.transforms
        return self._finish_expand(new, batch)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """Where samples lie."""
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        extra = len(self._event_shape) - last.event_dim
        return constraints.independent(last, extra) if extra > 0 else last

    @property
    def has_rsample(self) -> Any:
        """Whether samples have gradients."""
        return self.base_dist.has_rsample

    def _transformed(self, value: Any) -> Any:
        for transform in self.transforms:
            value = transform(value)
        return value

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of `value`: the base's, less what volume grew."""
        self._checked(value)
        dims = len(self._event_shape)
        grown: Any = 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            own = transform.log_abs_det_jacobian(before, value)
            grown = grown + _sum_rightmost(own, dims - transform.domain.event_dim)
            value = before
        base = self.base_dist.log_prob(value)
        return _sum_rightmost(base, dims - len(self.base_dist.event_shape)) - grown

    def _monotone(self, value: Any) -> Any:
        """Probabilities counted from the other side, where the transforms fall."""
        sign = functools.reduce(operator.mul, [each.sign for each in self.transforms], 1)
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotone(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        """The value up to which samples lie with probability `value`."""
        return self._transformed(self.base_dist.icdf(self._monotone(value)))
