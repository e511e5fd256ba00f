"""`thunk.jit`: TorchScript's names. Everything recorded is compiled, so functions stay Python.

Invariant: `script` and `trace` return what they are given; only files of TorchScript are refused.
"""

from __future__ import annotations

import builtins
import contextlib
import typing
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn, TypeVar

from thunk.nn.modules.module import Module

Function = TypeVar("Function", bound=Callable[..., Any])
ScriptModule = Module
ScriptFunction = Callable[..., Any]
Attribute = Any


class TracerWarning(Warning):
    """Tracing may have frozen a value; tracing here never does."""


class Error(RuntimeError):
    """A fault of TorchScript."""


def script(obj: Any, optimize: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A function or module, as it is."""
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A function or module, as it is: it is traced whenever it runs."""
    return func


def trace_module(mod: Module, inputs: Any, *args: Any, **kwargs: Any) -> Module:
    """A module, as it is."""
    return mod


def script_if_tracing(fn: Function) -> Function:
    """A function, as it is."""
    return fn


def is_scripting() -> bool:
    """Whether TorchScript compiles this: never."""
    return False


def is_tracing() -> bool:
    """Whether TorchScript traces this: never."""
    return False


def _same(fn: Any = None, **_: Any) -> Any:
    return (lambda inner: inner) if fn is None or fn is True or fn is False else fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Leave a method out of TorchScript."""
    return _same(drop)


def unused(fn: Function) -> Function:
    """Leave a method out of TorchScript."""
    return fn


def export(fn: Function) -> Function:
    """Let TorchScript compile a method."""
    return fn


def interface(obj: Any) -> Any:
    """A class as an interface."""
    return obj


def _overload(fn: Function) -> Function:
    return fn


_overload_method = _script_if_tracing = _overload


def annotate(the_type: Any, the_value: Any) -> Any:
    """A value, with its type for readers."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type; the arguments of generic types are not looked at."""
    origin = typing.get_origin(target_type) or target_type
    if origin is typing.Union:
        return any(isinstance(obj, each) for each in typing.get_args(target_type))
    return builtins.isinstance(obj, origin)


def freeze(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """A module, as it is."""
    return mod


def optimize_for_inference(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """A module, as it is."""
    return mod


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Start a function; what it records runs with everything else."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """The result of `fork`."""
    return future


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Optimise, or not, inside a `with` block."""
    yield


fuser = optimized_execution


def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: files of TorchScript hold code in a language of its own."""
    raise RuntimeError(
        "jit.load: expected a checkpoint, got a TorchScript archive, which this build cannot run; "
        "export its state_dict with PyTorch and load that"
    )


def save(m: Any, f: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: nothing here is written in TorchScript."""
    raise RuntimeError(
        "jit.save: expected a module of TorchScript, got one of Python; save its state_dict with "
        "torch.save"
    )


__all__ = [
    "Attribute", "Error", "Final", "ScriptFunction", "ScriptModule", "TracerWarning", "annotate",
    "export", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance",
    "load", "optimize_for_inference", "optimized_execution", "save", "script", "script_if_tracing",
    "trace", "trace_module", "unused", "wait",
]  # fmt: skip
