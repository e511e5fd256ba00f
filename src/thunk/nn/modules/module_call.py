"""Enters: a module and arguments. Leaves: what its forward returns, with every hook called.

Invariant: a call without hooks tests two flags and runs forward; hooks of all modules come before
the module's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from thunk.autograd.node import RemovableHandle
from thunk.nn.modules.backward_hook import BackwardHooks
from thunk.nn.modules.backward_hook_old import hook_last_node
from thunk.nn.modules.module_base import ModuleBase
from thunk.nn.modules.module_hooks import enter_hook, everywhere
from thunk.nn.modules.tables import refresh_hooked
from thunk.types.tensor_base import TensorBase


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """Every module defines its own computation."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


def _uncompiled(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return function


# What `Module.compile` makes of a call; the layer that captures calls puts its compiler here.
compiler: list[Callable[..., Any]] = [_uncompiled]

_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
    "only one of them."
)


class Calls(ModuleBase):
    """Calling a module, and the hooks around that."""

    forward: Callable[..., Any] = _forward_unimplemented

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooked or everywhere.active:
            compiled = self._compiled_call_impl
            if compiled is not None:
                return compiled(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        return self.forward(*args, **kwargs)

    _wrapped_call_impl = __call__

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        called = _HookedCall(self, args, kwargs)
        try:
            return called.run()
        except Exception:
            called.after_failure()
            raise

    @property
    def _compiled_call_impl(self) -> Any:
        return self.__dict__.get("_compiled_call_impl")

    @_compiled_call_impl.setter
    def _compiled_call_impl(self, value: Any) -> None:
        self.__dict__["_compiled_call_impl"] = value
        refresh_hooked(self)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile what a call of this module does, hooks included."""
        self._compiled_call_impl = compiler[0](self._call_impl, *args, **kwargs)

    def register_forward_pre_hook(
        self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; what it returns replaces the arguments."""
        flags = ((self._forward_pre_hooks_with_kwargs, with_kwargs),)
        return enter_hook(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_hook(
        self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:  # fmt: skip
        """Call `hook(module, args, output)` after forward; what it returns replaces the output."""
        flags = (
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        )
        return enter_hook(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the outputs are known."""
        return enter_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when gradients of the inputs are known."""
        if self._is_full_backward_hook is False:
            raise RuntimeError(_MIXED)
        self._is_full_backward_hook = True
        return enter_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Any) -> RemovableHandle:
        """The older form of `register_full_backward_hook`; sees the last operation only."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(_MIXED)
        self._is_full_backward_hook = False
        return enter_hook(self._backward_hooks, hook)

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """The full backward hooks and those of the older form."""
        hooks: dict[bool, list[Any]] = {True: [], False: []}
        if everywhere.full_backward is not None:
            hooks[everywhere.full_backward] += everywhere.backward.values()
        if self._is_full_backward_hook is not None:
            hooks[self._is_full_backward_hook] += self._backward_hooks.values()
        return hooks[True], hooks[False]

    def _get_backward_pre_hooks(self) -> list[Any]:
        return [*everywhere.backward_pre.values(), *self._backward_pre_hooks.values()]


class _HookedCall:
    """One call of a module that has hooks."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self) -> Any:
        module = self.module
        pre_hooks = module._get_backward_pre_hooks()
        full_hooks, old_hooks = module._get_backward_hooks()
        self._before()
        backward = None
        if full_hooks or pre_hooks:
            backward = BackwardHooks(module, full_hooks, pre_hooks)
            self.args = backward.around_inputs(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self._after()
        if backward is not None:
            if not isinstance(self.result, (TensorBase, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(self.result)}",
                    stacklevel=4,
                )
            self.result = backward.around_outputs(self.result)
        if old_hooks:
            hook_last_node(module, self.args, self.result, old_hooks)
        return self.result

    def _before(self) -> None:
        module = self.module
        with_kwargs = module._forward_pre_hooks_with_kwargs
        own = list(module._forward_pre_hooks.items())
        for number, hook in (*everywhere.forward_pre.items(), *own):
            if number in with_kwargs:
                changed = hook(module, self.args, self.kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}."
                    )
                self.args, self.kwargs = changed
            else:
                changed = hook(module, self.args)
                if changed is not None:
                    self.args = changed if isinstance(changed, tuple) else (changed,)

    def _all_forward_hooks(self) -> list[tuple[int, Any, bool, bool]]:
        """Number, hook, whether it takes keyword arguments, whether it is always called."""
        module = self.module
        found = [
            (n, hook, n in everywhere.forward_kwargs, n in everywhere.forward_always)
            for n, hook in everywhere.forward.items()
        ]
        kwargs, always = module._forward_hooks_with_kwargs, module._forward_hooks_always_called
        own = module._forward_hooks.items()
        return [*found, *[(n, hook, n in kwargs, n in always) for n, hook in own]]

    def _call_hook(self, hook: Any, takes_kwargs: bool) -> None:
        if takes_kwargs:
            changed = hook(self.module, self.args, self.kwargs, self.result)
        else:
            changed = hook(self.module, self.args, self.result)
        if changed is not None:
            self.result = changed

    def _after(self) -> None:
        for number, hook, takes_kwargs, always in self._all_forward_hooks():
            if always:
                self.called.add(number)
            self._call_hook(hook, takes_kwargs)

    def after_failure(self) -> None:
        """Call the hooks that are always called and were not yet."""
        for number, hook, takes_kwargs, always in self._all_forward_hooks():
            if not always or number in self.called:
                continue
            try:
                self._call_hook(hook, takes_kwargs)
            except Exception as error:
                warnings.warn(
                    "module forward hook with ``always_call=True`` raised an exception that was "
                    f"silenced as another error was raised in forward: {error}",
                    stacklevel=4,
                )
