"""Enters: a module. Leaves: the modules, parameters and buffers in it, by path.

Invariant: an object that is reachable by several paths is met once, at the first of them, unless
`remove_duplicate=False` asks for every path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from thunk.nn.modules.module_base import ModuleBase
from thunk.nn.parameter import Parameter


class Tree(ModuleBase):
    """Ways through a module and everything below it."""

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[Any] = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            start = f"{path}." if path else ""
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield start + name, member

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """The parameters of this module and, if `recurse`, of those below."""
        found: list[Any] = []
        if recurse and _gathered(self, found, set()):
            yield from found
            return
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Paths and parameters."""
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers of this module and, if `recurse`, of those below."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Paths and buffers."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def children(self) -> Iterator[Any]:
        """The modules directly below."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Names and modules directly below."""
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all below, parents first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Paths and modules, parents first."""
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        start = f"{prefix}." if prefix else ""
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(seen, start + name, remove_duplicate)

    def get_submodule(self, target: str) -> Any:
        """The module at the path `target`; itself for an empty path."""
        found: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise AttributeError(f"{found._get_name()} has no attribute `{name}`")
            found = getattr(found, name)
            if not isinstance(found, ModuleBase):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put `module` at the path `target`; if `strict`, only in the place of another."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, ModuleBase):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), ModuleBase):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Any:
        """The parameter at the path `target`."""
        found, name, _ = self._at(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Any:
        """The buffer at the path `target`."""
        found, name, module = self._at(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _at(self, target: str) -> tuple[Any, str, Any]:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return getattr(module, name), name, module

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call `fn` with every module, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode here and below, or leave it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Leave training mode here and below."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Switch gradients of all parameters on or off."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for parameter in self.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if gradient.grad_fn is not None:
                gradient.detach_()
            else:
                gradient.requires_grad_(False)
            gradient.zero_()


def _gathered(module: Any, found: list[Any], seen: set[int]) -> bool:
    """Append the parameters at and below `module`, without names: a step may ask for them.

    False if some class has an iteration of its own, which then must be followed instead.
    """
    cls = type(module)
    plain = (
        cls.named_parameters is Tree.named_parameters
        and cls.named_modules is Tree.named_modules
        and cls._named_members is Tree._named_members
    )
    attributes = module.__dict__
    if not plain or "_modules" not in attributes:
        return False
    for parameter in attributes["_parameters"].values():
        if parameter is not None and id(parameter) not in seen:
            seen.add(id(parameter))
            found.append(parameter)
    for child in attributes["_modules"].values():
        if child is not None and id(child) not in seen:
            seen.add(id(child))
            if not _gathered(child, found, seen):
                return False
    return True
