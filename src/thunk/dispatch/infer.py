"""Enters: an operator and bound arguments. Leaves: the specs of its results, before any value.

Invariant: shape rules see specs and Python values only, so eager, meta and lazy calls agree.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import OpDef
from thunk.types.device import device
from thunk.types.tensor_base import TensorBase


def specs_in(value: Any) -> Any:
    """`value` with every tensor replaced by its spec, lists included."""
    if isinstance(value, TensorBase):
        return value._spec
    if isinstance(value, (list, tuple)) and any(
        isinstance(each, (TensorBase, list, tuple)) for each in value
    ):
        return tuple([specs_in(each) for each in value])
    return value


def infer(op: OpDef, args: tuple[Any, ...]) -> Any:
    """The spec, or the tuple or list of specs, of `op`'s results; raises what PyTorch raises."""
    if op.spec is None:
        raise NotImplementedError(f"{op.name}: expected a shape rule, got none; declare spec=")
    check_same_device(op.name, args)
    try:
        return op.spec(*[specs_in(value) for value in args])
    except Mismatch as mismatch:
        raise mismatch.named(op.name) from None


def _hold_values(*devices: device) -> bool:
    return all(each.type in ("cpu", "lazy") for each in devices)


def check_same_device(name: str, args: tuple[Any, ...]) -> None:
    """Tensors of one call share a device; 0-dim CPU tensors go with any."""
    found: device | None = None
    for value in args:
        if not isinstance(value, TensorBase):
            continue
        spec = value._spec
        if not spec.shape and spec.device.type == "cpu":
            continue
        if found is None:
            found = spec.device
        elif spec.device != found and not (name == "copy" and _hold_values(found, spec.device)):
            raise RuntimeError(
                f"{name}: expected all tensors to be on the same device, but found at least two "
                f"devices, {found} and {spec.device}; move one with .to({str(found)!r})"
            )
