"""Enters: a module and a state dict. Leaves: the module with the values of the state dict.

Invariant: everything that does not fit is collected and reported together; what fits is loaded.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from thunk.autograd.node import RemovableHandle
from thunk.dispatch.state import no_grad_recording
from thunk.nn.modules.module_base import ModuleBase
from thunk.nn.modules.module_hooks import _WrappedHook, enter_hook
from thunk.nn.modules.module_save import EXTRA_STATE
from thunk.nn.parameter import Parameter, is_lazy
from thunk.types.tensor_base import TensorBase


class _IncompatibleKeys(
    namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])
):
    """The keys that the module has and the state dict lacks, and the reverse."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class Loading(ModuleBase):
    """From a state dict to a module."""

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` returned, if the module's class overrides this."""
        raise RuntimeError(
            "set_extra_state: expected a class that overrides it, got "
            f"{type(self).__name__}; define get_extra_state and set_extra_state"
        )

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the values of `state_dict` in, or with `assign` take its tensors themselves."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        own: Any = OrderedDict(state_dict)  # hooks may change it
        metadata = getattr(state_dict, "_metadata", None)
        if metadata is not None:
            own._metadata = metadata
        errors: list[str] = []
        keys = _IncompatibleKeys([], [])
        _load(self, own, "", metadata, assign, keys, errors)
        if strict:
            if keys.unexpected_keys:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(keys[1])}. ")
            if keys.missing_keys:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(keys[0])}. ")
        if errors:
            lines = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}"
            )
        return keys

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        lists = (missing_keys, unexpected_keys, error_msgs)
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, *lists)
        local = self._local_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, target in local.items():
            key = prefix + name
            if key in state_dict:
                _load_tensor(self, name, target, key, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys += self._strange_keys(state_dict, prefix, local)

    def _local_state(self) -> dict[str, Any]:
        persistent = {
            name: buffer
            for name, buffer in self._buffers.items()
            if name not in self._non_persistent_buffers_set
        }
        together = {**self._parameters, **persistent}
        return {name: tensor for name, tensor in together.items() if tensor is not None}

    def _load_extra_state(
        self, state_dict: Any, prefix: str, strict: bool, missing: list[str], unexpected: list[str]
    ) -> None:
        key = prefix + EXTRA_STATE
        if type(self).set_extra_state is not Loading.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing.append(key)
        elif strict and key in state_dict:
            unexpected.append(key)

    def _strange_keys(self, state_dict: Any, prefix: str, local: dict[str, Any]) -> list[str]:
        """Keys under `prefix` that lead nowhere."""
        modules = self._modules
        strange = []
        for key in state_dict:
            if not key.startswith(prefix) or key == prefix + EXTRA_STATE:
                continue
            name, dot, _ = key[len(prefix) :].partition(".")
            if name not in (modules if dot else local):
                strange.append(key)
        return strange

    def register_load_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)`
        before the module's own tensors are loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Any, with_module: bool = False
    ) -> RemovableHandle:
        wrapped = _WrappedHook(hook, self if with_module else None)
        return enter_hook(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` afterwards; it changes the keys in place."""
        return enter_hook(self._load_state_dict_post_hooks, hook)


def _load(
    module: Any, state_dict: Any, prefix: str, metadata: Any, assign: bool,
    keys: _IncompatibleKeys, errors: list[str],
) -> None:  # fmt: skip
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(
        state_dict, prefix, local_metadata, True, keys.missing_keys, keys.unexpected_keys, errors
    )
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = {key: value for key, value in state_dict.items() if key.startswith(below)}
            _load(child, part, below, metadata, assign, keys, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done "
                "inplace."
            )


def _load_tensor(
    module: Any, name: str, target: Any, key: str, source: Any, assign: bool, errors: list[str]
) -> None:
    if not isinstance(source, TensorBase) and not hasattr(type(source), "__torch_function__"):
        errors.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(source)}"
        )
        return
    found: Any = source
    if not is_lazy(target):
        if target.dim() == 0 and tuple(found.shape) == (1,):
            found = found[0]  # checkpoints from before there were tensors without dimensions
        if found.shape != target.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {found.shape} from "
                f"checkpoint, the shape in current model is {target.shape}."
            )
            return
    if target.is_meta and not found.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter "
            "in the current model, which is a no-op. (Did you mean to pass `assign=True` to assign "
            "items in the state dictionary to their corresponding key in the module instead of "
            "copying them in place?)",
            stacklevel=5,
        )
    try:
        with no_grad_recording():
            if assign:
                setattr(module, name, _as_assigned(target, found))
            elif not target.is_meta:
                target.copy_(found)
    except Exception as error:
        errors.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are '
            f"{target.size()} and whose dimensions in the checkpoint are {found.size()}, an "
            f"exception occurred : {error.args}."
        )


def _as_assigned(target: Any, source: Any) -> Any:
    if not isinstance(target, Parameter):
        return source
    if not isinstance(source, Parameter):
        return Parameter(source, requires_grad=target.requires_grad)
    parameter: Any = source
    return parameter.requires_grad_(target.requires_grad)


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
