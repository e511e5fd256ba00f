"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from thunk.distributions import constraints
from thunk.distributions.binomial import Binomial
from thunk.distributions.categorical import Categorical
from thunk.distributions.distribution import Distribution
from thunk.distributions.odds import OfCategories
from thunk.distributions.utils import broadcast_all
from thunk.ops.registry import t
from thunk.types.size import Size


class Multinomial(OfCategories, Distribution):
    """How often each class came up in `total_count` draws."""

    arg_constraints: ClassVar[Any] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    total_count: int
    _inner = ("_categorical",)
    _kept = ("total_count",)

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                "Multinomial: inhomogeneous total_count is not supported: expected an int, got "
                f"{type(total_count).__name__}"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Where samples lie."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + shape).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(shape))
        counts.scatter_add_(-1, drawn, t.ones_like(drawn))
        return counts.type_as(self.probs)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of `value`."""
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        ways = t.lgamma(value.sum(-1) + 1) - t.lgamma(value + 1).sum(-1)
        impossible = (value == 0) & (logits == -math.inf)  # 0 * -inf is 0 here
        return ways + (t.where(impossible, 0.0, logits) * value).sum(-1)

    def entropy(self) -> Any:
        """The expected information of a sample."""
        count = self.total_count
        fixed = count * self._categorical.entropy() - math.lgamma(count + 1)
        single = Binomial(total_count=count, probs=self.probs)
        support = single.enumerate_support(expand=False)[1:]
        weights = t.exp(single.log_prob(support)) * t.lgamma(support + 1)
        return fixed + weights.sum([0, -1])
