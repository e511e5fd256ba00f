"""Enters: a result and backward hooks of the older form. Leaves: the hooks on its last node.

Invariant: such a hook sees the gradients of the last operation only, and a warning says so whenever
that is not what the module as a whole got.
"""

from __future__ import annotations

import warnings
from typing import Any

from thunk.nn.modules.module_hooks import _WrappedHook
from thunk.types.tensor_base import TensorBase

_ADVICE = "deprecated; use register_full_backward_hook to see all of them."


def hook_last_node(module: Any, args: Any, result: Any, hooks: list[Any]) -> None:
    """Register `hooks` on the operation that made `result`."""
    node = _first_tensor(result).grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(_WrappedHook(hook, module))
    reason = _what_is_missed(args, result, node)
    if reason:
        warnings.warn(f"Using a non-full backward hook {reason} {_ADVICE}", FutureWarning, 5)


def _first_tensor(result: Any) -> Any:
    value = result
    while not isinstance(value, TensorBase):
        if isinstance(value, dict):
            value = next(each for each in value.values() if isinstance(each, TensorBase))
        else:
            value = value[0]
    return value


def _as_tensors(value: Any) -> tuple[Any, ...] | None:
    values = value if isinstance(value, tuple) else (value,)
    return values if all(isinstance(each, TensorBase) for each in values) else None


def _what_is_missed(args: Any, result: Any, node: Any) -> str:
    outputs, inputs = _as_tensors(result), _as_tensors(args)
    if outputs is None:
        return "on a Module whose result is no tensor or tuple of tensors misses grad_output and is"
    if inputs is None:
        return "on a Module whose input is no tensor or tuple of tensors misses grad_input and is"
    makers = {each.grad_fn for each in outputs} - {None}
    if makers != {node}:
        return "when outputs come from different operations misses some grad_output and is"
    sources = {each.grad_fn for each in inputs} - {None}
    if sources != {source for source, _ in node.next_functions}:
        return "when forward is more than one operation misses some grad_input and is"
    return ""
