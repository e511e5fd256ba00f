"""What a constraint is, and constraints that depend on other constraints or on parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Constraint:
    """A set of values, of `event_dim` dimensions each, that `check` knows the members of."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """Truth for each event of `value`."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass to define check")

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


def check_constraint(value: Any) -> None:
    """Constraints are made of constraints only."""
    if not isinstance(value, Constraint):
        raise AssertionError(f"expected a Constraint, got {type(value).__name__}")


class _Unknown(Constraint):
    """A fact that depends on parameters, until it is given."""

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    @property
    def is_discrete(self) -> Any:
        """Whether values are whole numbers."""
        return self._known("is_discrete", self._is_discrete)

    @property
    def event_dim(self) -> Any:
        """How many dimensions one event has."""
        return self._known("event_dim", self._event_dim)

    def _known(self, name: str, value: Any) -> Any:
        if value is NotImplemented:
            raise NotImplementedError(
                f".{name} cannot be determined statically; ask the distribution's support"
            )
        return value

    def check(self, value: Any) -> Any:
        """Cannot tell: the constraint is known for an instance only."""
        raise ValueError("Cannot determine validity of dependent constraint")


class _Dependent(_Unknown):
    """A constraint that depends on the parameters of a distribution."""

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> _Dependent:
        """The same, with more known of it."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )


class _DependentProperty(property, _Dependent):
    """A property of instances, and on the class a dependent constraint."""

    def __init__(
        self,
        function: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        super().__init__(function)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(  # type: ignore[override]
        self, function: Callable[..., Any]
    ) -> _DependentProperty:
        """Decorate `function` with what is known before it runs."""
        return _DependentProperty(
            function, is_discrete=self._is_discrete, event_dim=self._event_dim
        )


def is_dependent(constraint: Any) -> bool:
    """Whether the constraint is known for an instance only."""
    return isinstance(constraint, _Dependent)


class _IndependentConstraint(Constraint):
    """Events of several values of another constraint."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        check_constraint(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(
                f"independent: expected an int of at least 0, got {reinterpreted_batch_ndims!r}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> Any:
        """Whether values are whole numbers."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        """How many dimensions one event has."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        """Whether all values of an event pass."""
        return _all_of(self.base_constraint.check(value), self.reinterpreted_batch_ndims, self)

    def __repr__(self) -> str:
        base, count = self.base_constraint, self.reinterpreted_batch_ndims
        return f"{type(self).__name__[1:]}({base!r}, {count})"


def _all_of(truth: Any, dims: int, constraint: Constraint) -> Any:
    if truth.dim() < dims:
        raise ValueError(
            f"Expected value.dim() >= {constraint.event_dim}, got too few dimensions for "
            f"{constraint!r}"
        )
    return truth.reshape(*truth.shape[: truth.dim() - dims], -1).all(-1)


class MixtureSameFamilyConstraint(Constraint):
    """Values that every component of a mixture allows."""

    def __init__(self, base_constraint: Any) -> None:
        check_constraint(base_constraint)
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> Any:
        """Whether values are whole numbers."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        """How many dimensions one event has."""
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        """Whether all components allow an event."""
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim}, got {value.dim()}")
        truth = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return truth.reshape(*truth.shape[: value.dim() - self.event_dim], -1).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"
