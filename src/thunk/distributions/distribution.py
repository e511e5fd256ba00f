"""Enters: parameters. Leaves: `Distribution`, what every probability distribution is made from.

Invariant: parameters are tensors of the batch's shape (and the event's, where a parameter has
dimensions of its own); what they may be is checked once, when a distribution is made.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from thunk.autograd.modes import no_grad
from thunk.distributions.constraints import is_dependent
from thunk.distributions.utils import lazy_property
from thunk.types.size import Size
from thunk.types.tensor_base import TensorBase

_PACKAGE = __name__.rpartition(".")[0]


class Distribution:
    """A probability distribution, or a batch of them.

    `batch_shape` counts distributions, `event_shape` is the shape of one sample. Subclasses list
    their tensors in `_parameters` (with the number of dimensions beyond the batch's), distributions
    they are made of in `_inner` and other attributes in `_kept`, from which `expand` follows.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _parameters: ClassVar[Mapping[str, int]] = {}
    _inner: ClassVar[Sequence[str]] = ()
    _kept: ClassVar[Sequence[str]] = ()

    def __init__(
        self,
        batch_shape: Any = Size(),  # noqa: B008
        event_shape: Any = Size(),  # noqa: B008
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked unless a distribution says otherwise."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected a bool, got {value!r}")
        Distribution._validate_args = value

    def _check_parameters(self) -> None:
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self).__name__}: expected `arg_constraints`, got none; set "
                "`arg_constraints = {}` or pass validate_args=False",
                stacklevel=4,
            )
            return
        checked = []
        for name, constraint in wanted.items():
            derived = isinstance(getattr(type(self), name, None), lazy_property)
            if is_dependent(constraint) or (derived and name not in self.__dict__):
                continue
            value = getattr(self, name)
            checked.append((name, constraint, value, constraint.check(value).all()))
        if not checked:
            return
        truths = [truth for *_, truth in checked]
        # One question for all parameters: each answer waits for what is pending.
        if functools.reduce(operator.and_, truths):
            return
        for name, constraint, value, truth in checked:
            if not truth:
                raise ValueError(
                    f"{type(self).__name__}: expected parameter {name} "
                    f"({type(value).__name__} of shape {tuple(value.shape)}) to satisfy the "
                    f"constraint {constraint!r}, got invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a batch of another shape; nothing is copied."""
        new = self._get_checked_instance(self._declaring_class(), _instance)
        batch_shape = Size(batch_shape)
        for name, dims in self._parameters.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                own = value.shape[value.dim() - dims :]
                setattr(new, name, value.expand(batch_shape + own))
        for name in self._inner:
            setattr(new, name, getattr(self, name).expand(batch_shape))
        for name in self._kept:
            setattr(new, name, getattr(self, name))
        return self._finish_expand(new, batch_shape)

    def _finish_expand(self, new: Any, batch_shape: Size) -> Any:
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @classmethod
    def _declaring_class(cls) -> type[Any]:
        """The class of this package that `cls` is or derives from."""
        return next(each for each in cls.__mro__ if each.__module__.startswith(_PACKAGE))

    def _get_checked_instance(self, cls: type[Any], _instance: Any = None) -> Any:
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"{type(self).__name__}: expected a subclass of {cls.__name__} with an __init__ of "
                "its own to define expand too"
            )
        return object.__new__(type(self))

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    def _missing(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} does not implement {name}")

    @property
    def arg_constraints(self) -> Any:
        """What each parameter has to satisfy."""
        raise self._missing("arg_constraints")

    @property
    def support(self) -> Any:
        """Where samples lie."""
        raise self._missing("support")

    @property
    def mean(self) -> Any:
        """The expected value."""
        raise self._missing("mean")

    @property
    def mode(self) -> Any:
        """The most probable value."""
        raise self._missing("mode")

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        raise self._missing("variance")

    @property
    def stddev(self) -> Any:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients for the parameters."""
        raise self._missing("rsample")

    def sample_n(self, n: int) -> Any:
        """`n` samples; deprecated."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning,
            stacklevel=2,
        )  # fmt: skip
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability (density) of `value`."""
        raise self._missing("log_prob")

    def cdf(self, value: Any) -> Any:
        """The probability of samples up to `value`."""
        raise self._missing("cdf")

    def icdf(self, value: Any) -> Any:
        """The value up to which samples lie with probability `value`."""
        raise self._missing("icdf")

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values that samples can have, along the first dimension."""
        raise self._missing("enumerate_support")

    def entropy(self) -> Any:
        """The expected information of a sample."""
        raise self._missing("entropy")

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Any) -> None:
        name = type(self).__name__
        if not isinstance(value, TensorBase):
            raise ValueError(f"{name}: the value argument to log_prob must be a Tensor, got "
                             f"{type(value).__name__}")  # fmt: skip
        given: Any = value
        shape, own = given.shape, self._event_shape
        if shape[len(shape) - len(own) :] != own:
            raise ValueError(
                f"{name}: The right-most size of value must match event_shape: {shape} vs {own}"
            )
        wanted = self._batch_shape + own
        for one, other in zip(reversed(shape), reversed(wanted), strict=False):
            if one not in (1, other) and other != 1:
                raise ValueError(
                    f"{name}: Value is not broadcastable with batch_shape+event_shape: {shape} vs "
                    f"{wanted}"
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{name}: expected `support`, got none; define it or pass validate_args=False",
                stacklevel=4,
            )
            return
        if not support.check(given).all():
            raise ValueError(
                f"{name}: Expected value argument ({type(value).__name__} of shape {tuple(shape)}) "
                f"to be within the support ({support!r}) of {self!r}, got invalid values:\n{value}"
            )

    def _checked(self, value: Any) -> None:
        """Check a value, unless checks are off."""
        if self._validate_args:
            self._validate_sample(value)

    def __repr__(self) -> str:
        held = {
            name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__
        }
        parts = [
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in held.items()
        ]
        return f"{type(self).__name__}({', '.join(parts)})"
