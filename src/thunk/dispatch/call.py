"""Enters: an operator and its bound arguments. Leaves: the result of the kernel the table chooses.

Invariant: a kernel that calls on goes through `redispatch` with the keys below its own, so every
call visits keys in strictly falling priority.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thunk.base.errors import Mismatch
from thunk.dispatch.keys import DispatchKey, KeySet, autograd_key_of
from thunk.dispatch.registry import registry
from thunk.dispatch.state import state
from thunk.ir.opdef import OpDef
from thunk.types.device import device, get_default_device
from thunk.types.tensor_base import TensorBase

BACKEND_OF_DEVICE = {
    "cpu": DispatchKey.CPU,
    "lazy": DispatchKey.Lazy,
    "meta": DispatchKey.Meta,
    "xla": DispatchKey.XLA,
    "privateuseone": DispatchKey.PrivateUse1,
}
_KEYS_OF_DEVICE = {
    name: KeySet([key, autograd_key_of(key)]) for name, key in BACKEND_OF_DEVICE.items()
}


def tensors_in(args: Any) -> Iterator[TensorBase]:
    """Every tensor among bound arguments, lists included, in order."""
    for value in args:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def keys_of_device(where: device) -> KeySet:
    """The keys a tensor on `where` carries."""
    keys = _KEYS_OF_DEVICE.get(
        "lazy" if state.lazy and where.type == "cpu" and state.records else where.type
    )
    if keys is None:
        # PyTorch asserts this of CUDA alone, and scripts catch it.
        kind = AssertionError if where.type == "cuda" else RuntimeError
        reason = ": Torch not compiled with CUDA enabled" if where.type == "cuda" else ""
        raise kind(
            f"expected a device this build has (cpu, lazy, meta), got {where}{reason}; "
            "use device='cpu'"
        )
    return keys


def keys_of_call(args: tuple[Any, ...]) -> KeySet:
    """Keys of all tensor arguments; for factory functions, of the device argument."""
    keys = KeySet()
    for tensor in tensors_in(args):
        keys = keys | keys_of_device(tensor._spec.device)
    # PyTorch computes with 0-dim CPU tensors beside tensors of any one device.
    if DispatchKey.Meta in keys:
        keys = keys - DispatchKey.CPU
    if not keys:
        where = next((value for value in args if isinstance(value, device)), None)
        keys = keys_of_device(where or get_default_device())
    return keys


def call(op: OpDef, args: tuple[Any, ...]) -> Any:
    """Run `op` on bound arguments (schema order, defaults filled in)."""
    keys = (keys_of_call(args) | state.include) - state.exclude
    return redispatch(op, keys, args)


def redispatch(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Run the kernel of the highest of `keys`."""
    row = registry.entry(op.full_name).resolve(keys)
    kernel = row.kernel
    if kernel.boxed:
        return kernel.function(op, keys.after(row.key) | row.key, args)
    split = len(op.schema.positional)
    named = {
        argument.name: value
        for argument, value in zip(op.schema.arguments[split:], args[split:], strict=True)
    }
    try:
        return kernel.function(*args[:split], **named)
    except Mismatch as mismatch:  # a composite's own check
        raise mismatch.named(op.name) from None
