"""Enters: a constraint. Leaves: a transform from unconstrained numbers onto it.

Invariant: `biject_to` gives transforms with an inverse, `transform_to` those that suit optimizers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.distributions import constraints, transforms
from thunk.distributions.utils import is_number

Factory = Callable[[Any], Any]


class ConstraintRegistry:
    """Transforms by kind of constraint."""

    def __init__(self) -> None:
        self._registry: dict[type[Any], Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Enter a factory for a kind of constraint; without one, a decorator that does."""
        if factory is None:
            return lambda given: self.register(constraint, given)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(
                "register: Expected constraint to be either a Constraint subclass or instance, got "
                f"{constraint!r}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _into(*registries: ConstraintRegistry) -> Callable[..., Callable[[Factory], Factory]]:
    def of(*kinds: Any) -> Callable[[Factory], Factory]:
        def enter(factory: Factory) -> Factory:
            for registry in registries:
                for kind in kinds:
                    registry.register(kind, factory)
            return factory

        return enter

    return of


_both = _into(biject_to, transform_to)
_bijective = _into(biject_to)
_suitable = _into(transform_to)


@_both(constraints.real)
def _to_real(constraint: Any) -> Any:
    return transforms.identity_transform


@_both(constraints.positive, constraints.nonnegative)
def _to_above(constraint: Any) -> Any:
    if is_number(constraint.lower_bound) and constraint.lower_bound == 0:
        return transforms.ExpTransform()
    return _shifted(transforms.ExpTransform(), constraint.lower_bound, 1)


@_both(constraints.less_than)
def _to_below(constraint: Any) -> Any:
    return _shifted(transforms.ExpTransform(), constraint.upper_bound, -1)


@_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if is_number(low) and is_number(high) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return _shifted(transforms.SigmoidTransform(), low, high - low)


def _shifted(transform: Any, loc: Any, scale: Any) -> Any:
    return transforms.ComposeTransform([transform, transforms.AffineTransform(loc, scale)])


@_bijective(constraints.simplex)
def _biject_to_simplex(constraint: Any) -> Any:
    return transforms.StickBreakingTransform()


@_suitable(constraints.simplex)
def _transform_to_simplex(constraint: Any) -> Any:
    return transforms.SoftmaxTransform()


@_suitable(constraints.lower_cholesky)
def _to_lower_cholesky(constraint: Any) -> Any:
    return transforms.LowerCholeskyTransform()


@_suitable(constraints.positive_definite, constraints.positive_semidefinite)
def _to_positive_definite(constraint: Any) -> Any:
    return transforms.PositiveDefiniteTransform()


@_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


def _enter_joined(registry: ConstraintRegistry) -> None:
    """Constraints made of others take the same registry's transforms of those."""
    enter = _into(registry)

    @enter(constraints.independent)
    def _to_independent(constraint: Any) -> Any:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @enter(constraints.cat)
    def _to_cat(constraint: Any) -> Any:
        parts = [registry(each) for each in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @enter(constraints.stack)
    def _to_stack(constraint: Any) -> Any:
        parts = [registry(each) for each in constraint.cseq]
        return transforms.StackTransform(parts, constraint.dim)


_enter_joined(biject_to)
_enter_joined(transform_to)
