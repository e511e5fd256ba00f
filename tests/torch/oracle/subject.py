"""The library under judgement, seen through torch's names.

In: the name of a module (`thunk`, or `torch` judging itself) and names or callables of torch.
Out: the same thing of that module, or `MissingName`. Nothing here knows any single operator.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.testing._utils import wrapper_set_seed

TEST_CODE = "torch.testing."


class MissingName(Exception):
    """The subject has no such name."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Subject:
    """One library with PyTorch's API, and the way to name its parts as torch names them."""

    def __init__(self, name: str, is_reference: bool = False) -> None:
        self.name = name
        self.module: Any = importlib.import_module(name)
        self.is_reference = is_reference
        # Each rebuilt function is kept with its original, so that no other can take its id.
        self._rebound: dict[int, tuple[Any, Any]] = {}

    def resolve(self, path: str) -> Any:
        """`nn.functional.relu` or `Tensor.expand` -> the object of that name."""
        found = self.module
        for part in path.split("."):
            if not hasattr(found, part):
                raise MissingName(path)
            found = getattr(found, part)
        return found

    def has(self, path: str) -> bool:
        try:
            self.resolve(path)
        except MissingName:
            return False
        return True

    def exception_type(self, kind: type[BaseException]) -> type[BaseException]:
        """Python's own exceptions stay; torch's own are looked up under their public names."""
        if kind.__module__ == "builtins" or self.is_reference:
            return kind
        for path in (f"linalg.{kind.__name__}", kind.__name__.lstrip("_"),
                     f"linalg.{kind.__name__.lstrip('_')}"):
            if self.has(path):
                found: type[BaseException] = self.resolve(path)
                return found
        raise MissingName(kind.__name__)

    def rebind(self, value: Any) -> Any:
        """A callable of torch or of torch's test code -> the same callable over the subject.

        Python wrappers of the test code are rebuilt with `torch` in their globals replaced,
        so their logic is run as it stands instead of being written a second time here.
        """
        if value is None or (self.is_reference and not _seeds_itself(value)):
            return value
        if isinstance(value, functools.partial):
            keywords = {key: self._rebind_cell(item) for key, item in value.keywords.items()}
            args = [self._rebind_cell(item) for item in value.args]
            return functools.partial(self.rebind(value.func), *args, **keywords)
        module = getattr(value, "__module__", None) or ""
        if isinstance(value, types.FunctionType) and _is_test_code(module):
            return self._rebuild(value)
        path = torch_path(value)
        return value if path is None else self.resolve(path)

    def _rebuild(self, function: types.FunctionType) -> Any:
        known = self._rebound.get(id(function))
        if known is not None:
            return known[1]
        names = _names_of(function.__code__)
        scope = dict(function.__globals__)
        closure = tuple(types.CellType(None) for _ in function.__closure__ or ())
        rebuilt = types.FunctionType(function.__code__, scope, function.__name__,
                                     function.__defaults__, closure or None)
        rebuilt.__kwdefaults__ = function.__kwdefaults__
        self._rebound[id(function)] = (function, rebuilt)
        for name in names & scope.keys():
            scope[name] = self._rebind_cell(scope[name])
        for cell, original in zip(closure, function.__closure__ or (), strict=True):
            cell.cell_contents = self._rebind_cell(original.cell_contents)
        return rebuilt

    def _rebind_cell(self, value: Any) -> Any:
        if value is wrapper_set_seed:
            return call_directly
        if value is torch:
            return self.module
        if isinstance(value, torch.dtype):
            return self.resolve(str(value).removeprefix("torch."))
        if isinstance(value, types.ModuleType) and value.__name__.startswith("torch."):
            if _is_test_code(value.__name__):
                return value
            return self.resolve(value.__name__.removeprefix("torch."))
        if callable(value) and not isinstance(value, type):
            return self.rebind(value)
        if value is torch.Tensor:
            return self.module.Tensor
        return value


@functools.cache
def reference() -> Subject:
    """torch, as the judge."""
    return Subject("torch", is_reference=True)


def call_directly(function: Any, *args: Any, **kwargs: Any) -> Any:
    """In place of the wrapper that fixes one seed: the oracle chooses the seed."""
    return function(*args, **kwargs)


def _seeds_itself(value: Any) -> bool:
    code = getattr(value, "__code__", None)
    return code is not None and wrapper_set_seed.__name__ in code.co_names


def _is_test_code(module: str) -> bool:
    return module.startswith(TEST_CODE)


def _names_of(code: types.CodeType) -> set[str]:
    """The global names a function and the functions nested in it may read."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_of(constant)
    return names


def torch_path(value: Any) -> str | None:
    """The public path of a torch function or tensor method, None for anything not torch's."""
    name = getattr(value, "__name__", None)
    if name is None:
        return None
    if getattr(torch.Tensor, name, None) is value:
        return f"Tensor.{name}"
    return _function_paths().get(id(value))


@functools.cache
def _function_paths() -> dict[int, str]:
    spaces = ("", "nn.functional", "linalg", "special", "fft", "signal.windows", "masked")
    paths: dict[int, str] = {}
    for space in spaces:
        owner: Any = torch
        for part in space.split(".") if space else ():
            owner = getattr(owner, part)
        for name in dir(owner):
            value = getattr(owner, name, None)
            if callable(value) and not isinstance(value, type):
                paths.setdefault(id(value), f"{space}.{name}" if space else name)
    return paths


def calls(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Exception | None]:
    """The result of a call, or the exception it raised."""
    try:
        return function(*args, **kwargs), None
    except Exception as error:  # every kind of refusal is a result here
        return None, error
