"""Enters: lists of tensors. Leaves: `_foreach_*`, an operator applied to each, under those names.

Invariant: nothing is computed differently than tensor by tensor; a trace fuses what it can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.ops.registry import t

_UNARY = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor",
    "frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt",
    "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip
_BINARY = ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_max", "clamp_min"]
_POINTWISE = ["addcmul", "addcdiv", "lerp"]


def _argument(value: Any, place: int) -> Any:
    return value[place] if isinstance(value, (list, tuple)) else value


def _each(name: str) -> Callable[..., Any]:
    def function(self: Any, *args: Any, **kwargs: Any) -> list[Any]:
        op = getattr(t, name)
        return [
            op(
                each,
                *(_argument(value, place) for value in args),
                **{key: _argument(value, place) for key, value in kwargs.items()},
            )
            for place, each in enumerate(self)
        ]

    function.__name__ = function.__qualname__ = f"_foreach_{name}"
    function.__doc__ = f"`{name}` of each tensor of a list."
    return function


def _each_inplace(name: str) -> Callable[..., None]:
    compute = _each(f"{name}_")

    def function(self: Any, *args: Any, **kwargs: Any) -> None:
        compute(self, *args, **kwargs)

    function.__name__ = function.__qualname__ = f"_foreach_{name}_"
    function.__doc__ = f"`{name}_` of each tensor of a list."
    return function


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> list[Any]:
    """The norm of each tensor of a list."""
    return [t.linalg_vector_norm(each, ord, dtype=dtype) for each in self]


def functions() -> dict[str, Callable[..., Any]]:
    """Every function of this kind, by name."""
    made: dict[str, Callable[..., Any]] = {"_foreach_norm": _foreach_norm}
    for name in (*_UNARY, *_BINARY, *_POINTWISE):
        made[f"_foreach_{name}"] = _each(name)
        made[f"_foreach_{name}_"] = _each_inplace(name)
    for name in ("zero", "copy"):
        made[f"_foreach_{name}_"] = _each_inplace(name)
    return made
