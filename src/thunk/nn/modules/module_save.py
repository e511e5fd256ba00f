"""Enters: a module. Leaves: its state dict: paths to tensors, with a version for every module.

Invariant: tensors in a state dict share memory with the module and have no history, unless
`keep_vars` asks for the parameters themselves.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from thunk.autograd.node import RemovableHandle
from thunk.nn.modules.module_base import ModuleBase
from thunk.nn.modules.module_hooks import enter_hook

EXTRA_STATE = "_extra_state"


class Saving(ModuleBase):
    """From a module to a state dict."""

    _version: int

    def get_extra_state(self) -> Any:
        """State besides tensors, if the module's class overrides this."""
        raise RuntimeError(
            "get_extra_state: expected a class that overrides it, got "
            f"{type(self).__name__}; define get_extra_state and set_extra_state"
        )

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Paths and tensors of all parameters and persistent buffers."""
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead: "
                "state_dict(destination=..., prefix=..., keep_vars=...)",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and not keep_vars else keep_vars
        if destination is None:
            destination = _new_state_dict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            returned = hook(self, destination, prefix, metadata)
            if returned is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = returned
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        persistent = {
            name: buffer
            for name, buffer in self._buffers.items()
            if name not in self._non_persistent_buffers_set
        }
        for name, tensor in (*self._parameters.items(), *persistent.items()):
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Saving.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def register_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module's tensors are listed."""
        return enter_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata)` afterwards; it changes it in place."""
        hook._from_public_api = True
        return enter_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return enter_hook(self._state_dict_hooks, hook)


def _new_state_dict() -> Any:
    made: Any = OrderedDict()
    made._metadata = OrderedDict()
    return made
