"""Enters: a function and `torch.compile`'s arguments. Leaves: the function, which is traced lazily.

Invariant: everything that runs is recorded and compiled anyway; the decorator adds no behaviour, so
it cannot take any away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def compile(
    model: Function,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    disable: bool = ...,
) -> Function: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    disable: bool = ...,
) -> Callable[[Function], Function]: ...
def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Return `model` as it is: its operations are recorded lazily and compiled when they repeat.

    Arguments are those of `torch.compile`; they choose between compilers and modes that have no
    counterpart here. As in PyTorch, it may be used as a decorator, with or without arguments.
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "compile: expected mode or options, got Either mode or options can be specified, but "
            "both can't be specified at the same time; drop one"
        )
    if model is None:
        return lambda function: function
    if not callable(model):
        raise TypeError(
            f"compile: expected a function or a module, got {type(model).__name__}; "
            "pass something that can be called"
        )
    return model
