"""Transforms that work side by side along a dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thunk.distributions import constraints
from thunk.distributions.constraints import Constraint
from thunk.distributions.transforms.base import Transform
from thunk.distributions.utils import _sum_rightmost, lazy_property
from thunk.ops.registry import t


class _Joined(Transform):
    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        for each in tseq:
            if not isinstance(each, Transform):
                raise AssertionError(
                    f"{type(self).__name__}: expected Transforms, got {type(each).__name__}"
                )
        super().__init__(cache_size=cache_size)
        self.transforms = [each.with_cache(cache_size) if cache_size else each for each in tseq]
        self.dim = dim

    @property
    def bijective(self) -> Any:
        """Whether all have inverses."""
        return all(each.bijective for each in self.transforms)

    def _check(self, value: Any, length: int) -> None:
        dims = value.dim()
        if not -dims <= self.dim < dims or value.size(self.dim) != length:
            raise AssertionError(
                f"{type(self).__name__}: expected {length} elements along dimension {self.dim}, "
                f"got a tensor of shape {tuple(value.shape)}"
            )


class CatTransform(_Joined):
    """Stretches of a dimension, each with its transform."""

    def __init__(
        self,
        tseq: Sequence[Any],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"CatTransform: expected {len(self.transforms)} lengths, got {len(self.lengths)}"
            )

    def _again(self, cache_size: int) -> Any:
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @lazy_property
    def event_dim(self) -> Any:
        """How many dimensions one event has."""
        return max(each.event_dim for each in self.transforms)

    @lazy_property
    def length(self) -> Any:
        """How many elements the dimension has."""
        return sum(self.lengths)

    def _parts(self, value: Any) -> Any:
        self._check(value, self.length)
        return t.split(value, self.lengths, self.dim)

    def _each(self, function: Callable[[Any, Any], Any], value: Any) -> Any:
        pairs = zip(self.transforms, self._parts(value), strict=True)
        return t.cat([function(each, part) for each, part in pairs], self.dim)

    def _call(self, x: Any) -> Any:
        return self._each(lambda each, part: each(part), x)

    def _inverse(self, y: Any) -> Any:
        return self._each(lambda each, part: each.inv(part), y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        dims = self.event_dim
        found = []
        for each, one, other in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            own = each.log_abs_det_jacobian(one, other)
            found.append(_sum_rightmost(own, dims - each.event_dim))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + dims
        if dim < 0:
            return t.cat(found, dim)
        total = found[0]
        for each in found[1:]:
            total = total + each
        return total

    @constraints.dependent_property
    def domain(self) -> Constraint:
        return constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        parts = [each.codomain for each in self.transforms]
        return constraints.cat(parts, self.dim, self.lengths)


class StackTransform(_Joined):
    """Slices of a dimension, each with its transform."""

    def _again(self, cache_size: int) -> Any:
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, value: Any) -> Any:
        self._check(value, len(self.transforms))
        return t.unbind(value, self.dim)

    def _call(self, x: Any) -> Any:
        pairs = zip(self.transforms, self._slices(x), strict=True)
        return t.stack([each(part) for each, part in pairs], self.dim)

    def _inverse(self, y: Any) -> Any:
        pairs = zip(self.transforms, self._slices(y), strict=True)
        return t.stack([each.inv(part) for each, part in pairs], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        triples = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return t.stack(
            [each.log_abs_det_jacobian(one, other) for each, one, other in triples], self.dim
        )

    @constraints.dependent_property
    def domain(self) -> Constraint:
        return constraints.stack([each.domain for each in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        return constraints.stack([each.codomain for each in self.transforms], self.dim)
