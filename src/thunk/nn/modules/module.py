"""Enters: parameters, buffers and modules as attributes. Leaves: `Module`, the base of all layers.

Invariant: what is registered in `_parameters`, `_buffers` or `_modules` is a plain instance
attribute as well (see `tables`), whoever changes the tables.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import Any

from thunk.nn.modules.module_call import Calls
from thunk.nn.modules.module_convert import Conversion
from thunk.nn.modules.module_hooks import (
    _WrappedHook,
    everywhere,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    replaced,
)
from thunk.nn.modules.module_load import Loading, _IncompatibleKeys
from thunk.nn.modules.module_save import EXTRA_STATE, Saving
from thunk.nn.modules.module_tree import Tree
from thunk.nn.modules.tables import (
    CALL_HOOK_TABLES,
    MEMBER_TABLES,
    MISSING,
    HookTable,
    Members,
    world,
)
from thunk.nn.parameter import Buffer, Parameter
from thunk.tensor.queries import typename
from thunk.types.tensor_base import TensorBase

# What checkpoints and other code take from PyTorch's file of this name, besides what is public.
_FOUND_HERE = (_IncompatibleKeys, _WrappedHook)
_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE
_global_forward_pre_hooks = everywhere.forward_pre
_global_forward_hooks = everywhere.forward
_global_backward_pre_hooks = everywhere.backward_pre
_global_backward_hooks = everywhere.backward

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip

_PLAIN_HOOK_TABLES = (
    "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)  # fmt: skip


class Module(Calls, Tree, Saving, Loading, Conversion):
    """The base class of all neural network modules."""

    dump_patches: bool = False
    call_super_init: bool = False
    _version: int = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            name = type(self).__name__
            if kwargs:
                raise TypeError(
                    f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            raise TypeError(
                f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        self._make_tables()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def _make_tables(self) -> None:
        attributes = self.__dict__
        attributes["training"] = True
        for name in MEMBER_TABLES:
            attributes[name] = Members()
            attributes[name].add_owner(self)
        attributes["_non_persistent_buffers_set"] = set()
        for name in CALL_HOOK_TABLES:
            attributes[name] = HookTable()
            attributes[name].add_owner(self)
        attributes["_is_full_backward_hook"] = None
        for name in _PLAIN_HOOK_TABLES:
            attributes[name] = OrderedDict()
        attributes["_hooked"] = False

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Register a tensor, or None, that is state but no parameter."""
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or "
                "None required)"
            )
        self._buffers[name] = replaced(everywhere.buffer, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Any) -> None:
        """Register a parameter, or None for one that is left out."""
        self._check_name("parameter", name, "_parameters")
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        self._parameters[name] = replaced(everywhere.parameter, self, name, param)

    def _check_name(self, kind: str, name: Any, table: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def add_module(self, name: str, module: Any) -> None:
        """Register a module, or None, under `name`."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = replaced(everywhere.module, self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def __getattr__(self, name: str) -> Any:
        """Members are found here only while a table is not mirrored, as after `__setstate__`."""
        attributes = self.__dict__
        for table in MEMBER_TABLES:
            members = attributes.get(table)
            if members is not None and name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        if isinstance(value, TensorBase) and isinstance(value, Parameter):
            if "_parameters" not in attributes:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules", attribute="_parameters")
            self.register_parameter(name, value)
        elif name in attributes.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter "
                    "or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in attributes:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers", attribute="_modules")
            self._modules[name] = replaced(everywhere.module, self, name, value)
        elif name in attributes.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module "
                    "or None expected)"
                )
            self._modules[name] = replaced(everywhere.module, self, name, value)
        elif isinstance(value, Buffer) or name in attributes.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            world.version += 1
            object.__setattr__(self, name, value)

    def _forget(self, name: str, *tables: str, attribute: str) -> None:
        """Make room for a member called `name` in the table `attribute`."""
        attributes = self.__dict__
        for table in tables:
            attributes[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        attributes.pop(name, None)
        if name in attributes[attribute] and not hasattr(type(self), name):
            attributes[name] = attributes[attribute][name]

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not _is_tensor_like(value):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, "
                "torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            persistent = value.persistent
        else:
            persistent = name not in self._non_persistent_buffers_set
        own = type(self).register_buffer
        if own is Module.register_buffer or "persistent" in inspect.signature(own).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed."
            )

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            world.version += 1
            object.__delattr__(self, name)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for table in reversed(MEMBER_TABLES):
            for name, member in self.__dict__.get(table, {}).items():
                if state.get(name, MISSING) is member:
                    del state[name]
        state.pop("_compiled_call_impl", None)
        state.pop("_hooked", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes = self.__dict__
        attributes.update(state)
        for name in (*CALL_HOOK_TABLES, *_PLAIN_HOOK_TABLES):
            if name not in attributes:
                attributes[name] = OrderedDict()
        attributes.setdefault("_non_persistent_buffers_set", set())
        attributes.setdefault("_is_full_backward_hook", None)
        for name in (*MEMBER_TABLES, *CALL_HOOK_TABLES):
            if name in attributes:
                getattr(self, name)  # looking at a table makes it this module's own

    def extra_repr(self) -> str:
        """What `repr` says besides the name and the modules below."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(m), 2)}" for name, m in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        body = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {body}\n)"

    def __dir__(self) -> list[str]:
        members = [name for table in MEMBER_TABLES for name in getattr(self, table)]
        names = {*dir(type(self)), *self.__dict__, *members}
        return sorted(name for name in names if not name[0].isdigit())

    def _replicate_for_data_parallel(self) -> Any:
        replica = type(self).__new__(type(self))
        attributes = replica.__dict__
        attributes.update(self.__getstate__())
        attributes["_parameters"] = {}
        attributes["_buffers"] = dict(self._buffers)
        attributes["_modules"] = dict(self._modules)
        attributes["_is_replica"] = True
        return replica


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, TensorBase) or hasattr(value, "__torch_function__")


def _addindent(s_: str, numSpaces: int) -> str:
    """The text with every line but the first moved to the right, blank ones left empty."""
    first, *rest = s_.split("\n")
    space = " " * numSpaces
    return "\n".join([first, *[f"{space}{line}" if line.strip() else "" for line in rest]])
