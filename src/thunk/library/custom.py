"""Enters: a Python function. Leaves: an operator the framework treats as a unit.

Invariant: a custom operator is called through dispatch like any other, also by its own object.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from thunk.dispatch.call import tensors_in
from thunk.lazy.trace import has_storage
from thunk.library.extend import (
    define,
    find_defined,
    register_autograd,
    register_fake,
    register_kernel,
)
from thunk.library.infer import infer_schema
from thunk.library.library import Library
from thunk.ops.namespace import OpOverload


class CustomOpDef:
    """A custom operator and the ways to extend it."""

    def __init__(self, name: str, schema: str, function: Callable[..., Any]) -> None:
        namespace, _, base = name.partition("::")
        if not namespace or not base or "." in base:
            raise ValueError(
                f"custom_op: expected a name of the form 'namespace::name', got {name!r}"
            )
        self._qualname = name
        self._init_fn = function
        self._lib = Library(namespace, "FRAGMENT")
        define(name, schema, lib=self._lib)
        self._lib.impl(base, _without_fake(name), "Meta")
        self._opoverload = OpOverload(find_defined(name))
        self.__doc__ = function.__doc__
        self.__name__ = base

    def name(self) -> str:
        """The full name."""
        return self._qualname

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register a kernel for device types, or for all of them (None); a decorator too."""
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            own = _returning_new(self._qualname, function)
            register_kernel(self._qualname, device_types, own, lib=self._lib)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register the shape rule."""
        registered: Callable[..., Any] = register_fake(self._qualname, fn, lib=self._lib)
        return registered

    def register_autograd(
        self, backward: Callable[..., Any], /, *,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        """Register the gradient."""
        register_autograd(self._qualname, backward, setup_context=setup_context, lib=self._lib)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def _without_fake(name: str) -> Callable[..., Any]:
    """The kernel for tensors without values until there is a shape rule."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"{name}: expected tensors with values, got meta tensors, and there was no fake impl "
            "registered; use register_fake to say what the results look like"
        )

    return kernel


def _returning_new(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, held to the rule that a custom operator's results share no memory."""

    @functools.wraps(function)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        seen = [*tensors_in(args), *tensors_in(list(kwargs.values()))]
        for each in tensors_in(result if isinstance(result, (tuple, list)) else [result]):
            if any(each is other or _share_memory(each, other) for other in seen):
                raise RuntimeError(
                    f"{name}: expected results that share no memory with arguments or with each "
                    "other, got one that does; return a clone() of it"
                )
            seen.append(each)
        return result

    return kernel


def _share_memory(one: Any, other: Any) -> bool:
    """Views have a storage from the start, also where values are pending."""
    return has_storage(one) and has_storage(other) and one._storage is other._storage


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any,
    device_types: str | Sequence[str] | None = None, schema: str | None = None, tags: Any = (),
) -> Any:  # fmt: skip
    """Make an operator of a function; its schema follows from the annotations unless given."""

    def make(function: Callable[..., Any]) -> CustomOpDef:
        text = schema or infer_schema(function, mutates_args=mutates_args)
        made = CustomOpDef(name, text, function)
        made.register_kernel(device_types, function)
        return made

    return make if fn is None else make(fn)
