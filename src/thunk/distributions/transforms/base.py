"""What a transform is: a function of tensors with its inverse and the volume it stretches."""

from __future__ import annotations

from typing import Any

from thunk.distributions import constraints
from thunk.distributions.constraints import Constraint
from thunk.distributions.utils import is_number


class Transform:
    """A function from `domain` to `codomain` with an inverse, as far as it has one.

    With `cache_size=1` the last argument and result are kept, so that the inverse of what was just
    computed is exact and free.
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}: cache_size must be 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._inv: Any = None
        self._last: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> Any:
        """How many dimensions one event has, on both sides."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError(
            f"{type(self).__name__}: Please use either .domain.event_dim or .codomain.event_dim, "
            "which differ"
        )

    @property
    def inv(self) -> Any:
        """The inverse, as a transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 for a rising function, -1 for a falling one."""
        raise self._missing("sign")

    def _missing(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} does not implement {name}")

    def _again(self, cache_size: int) -> Any:
        """The same transform with another cache."""
        if type(self).__init__ is not Transform.__init__:
            raise self._missing("with_cache")
        return type(self)(cache_size=cache_size)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, which keeps its last result."""
        return self if self._cache_size == cache_size else self._again(cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        if self._cache_size == 0:
            return self._call(x)
        if x is not self._last[0]:
            self._last = (x, self._call(x))
        return self._last[1]

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        if y is not self._last[1]:
            self._last = (self._inverse(y), y)
        return self._last[0]

    def _call(self, x: Any) -> Any:
        raise self._missing("_call")

    def _inverse(self, y: Any) -> Any:
        raise self._missing("_inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of how much volume grows around `x`, where the function is `y`."""
        raise self._missing("log_abs_det_jacobian")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of results for arguments of `shape`."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of arguments for results of `shape`."""
        return shape


class _InverseTransform(Transform):
    """The inverse of another transform, which keeps the cache of both."""

    _inv: Any

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        found: Constraint = self._inv.codomain
        return found

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        found: Constraint = self._inv.domain
        return found

    @property
    def bijective(self) -> Any:
        """Whether there is an inverse."""
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        """1 for a rising function, -1 for a falling one."""
        return self._inv.sign

    @property
    def inv(self) -> Any:
        """The transform itself."""
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and bool(self._inv == other._inv)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


def same_value(one: Any, other: Any) -> bool:
    """Whether two numbers or tensors are equal everywhere."""
    if is_number(one) and is_number(other):
        return bool(one == other)
    return bool((one == other).all())


def check_dims(shape: Any, count: int) -> None:
    """Refuse a shape of too few dimensions."""
    if len(shape) < count:
        raise ValueError(f"Too few dimensions on input: expected {count}, got {len(shape)}")
