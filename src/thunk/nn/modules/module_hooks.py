"""Enters: functions to call around what modules do. Leaves: tables of them, and handles to remove.

Invariant: a hook's number is unique in its table, also after a table came out of a pickle.
"""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from typing import Any

from thunk.autograd.node import RemovableHandle
from thunk.nn.modules.tables import Watched


def enter_hook(
    table: Any, hook: Any, prepend: bool = False, flags: tuple[tuple[Any, bool], ...] = ()
) -> RemovableHandle:
    """Enter `hook` into `table`, and its number into the tables of the flags that are set."""
    extras = tuple([extra for extra, _ in flags])
    handle = RemovableHandle(table, extra_dict=extras)
    while handle.id in table:
        handle = RemovableHandle(table, extra_dict=extras)
    for extra, wanted in flags:
        if wanted:
            extra[handle.id] = True
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


class _WrappedHook:
    """A hook with its module held weakly and passed first, if it wants it."""

    # Pickles of whole modules name PyTorch's home of it.
    __module__ = "thunk.nn.modules.module"

    def __init__(self, hook: Any, module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


class _GlobalTable(Watched, OrderedDict[int, Any]):
    """Hooks of all modules; a change of any such table updates `everywhere.active`."""

    __slots__ = ()

    def _close(self, key: Any, before: Any) -> None:
        super()._close(key, before)
        everywhere.refresh()


class GlobalHooks:
    """The hooks that hold for every module."""

    def __init__(self) -> None:
        self.active = False
        self.full_backward: bool | None = None
        self.forward_pre = _GlobalTable()
        self.forward = _GlobalTable()
        self.forward_always: OrderedDict[int, bool] = OrderedDict()
        self.forward_kwargs: OrderedDict[int, bool] = OrderedDict()
        self.backward_pre = _GlobalTable()
        self.backward = _GlobalTable()
        self.buffer: OrderedDict[int, Any] = OrderedDict()
        self.module: OrderedDict[int, Any] = OrderedDict()
        self.parameter: OrderedDict[int, Any] = OrderedDict()

    def refresh(self) -> None:
        """Recompute whether calls must look here."""
        self.active = bool(self.forward_pre or self.forward or self.backward_pre or self.backward)


everywhere = GlobalHooks()


def replaced(hooks: OrderedDict[int, Any], module: Any, name: str, value: Any) -> Any:
    """What registration hooks make of a member that is about to be registered."""
    for hook in hooks.values():
        output = hook(module, name, value)
        if output is not None:
            value = output
    return value


def register_module_buffer_registration_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, name, buffer)` for every buffer registered; a result replaces it."""
    return enter_hook(everywhere.buffer, hook)


def register_module_module_registration_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, name, submodule)` for every submodule registered."""
    return enter_hook(everywhere.module, hook)


def register_module_parameter_registration_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, name, parameter)` for every parameter registered."""
    return enter_hook(everywhere.parameter, hook)


def register_module_forward_pre_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, args)` before every module's forward."""
    return enter_hook(everywhere.forward_pre, hook)


def register_module_forward_hook(
    hook: Any, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after every module's forward."""
    flags = ((everywhere.forward_kwargs, with_kwargs), (everywhere.forward_always, always_call))
    return enter_hook(everywhere.forward, hook, flags=flags)


_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
    "Please use only one of them."
)


def register_module_backward_hook(hook: Any) -> RemovableHandle:
    """The older form of `register_module_full_backward_hook`; sees the last operation only."""
    if everywhere.full_backward is True:
        raise RuntimeError(_MIXED)
    everywhere.full_backward = False
    return enter_hook(everywhere.backward, hook)


def register_module_full_backward_pre_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, grad_output)` when the gradients of any module's outputs are known."""
    return enter_hook(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook: Any) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when any module's input gradients are known."""
    if everywhere.full_backward is False:
        raise RuntimeError(_MIXED)
    everywhere.full_backward = True
    return enter_hook(everywhere.backward, hook)
