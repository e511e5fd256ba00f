"""Enters: operator declarations. Leaves: a kernel for the autocast key where one states a policy.

Invariant: a policy is stated by `autocast=` of the declaration; every other operator is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from thunk.dispatch.call import redispatch
from thunk.dispatch.kernel import FALLTHROUGH
from thunk.dispatch.keys import DispatchKey, KeySet
from thunk.dispatch.registry import registry
from thunk.dispatch.state import key_guard, state
from thunk.ir.opdef import OpDef
from thunk.ops.declare import subscribe
from thunk.ops.registry import t
from thunk.types.dtype import dtype, float32, float64
from thunk.types.promotion import promote_types
from thunk.types.tensor_base import TensorBase

AUTOCAST = KeySet([DispatchKey.AutocastCPU])


def is_eligible(tensor: TensorBase) -> bool:
    """Whether autocast converts a tensor: floating point numbers on the CPU, but no doubles."""
    spec = tensor._spec
    element = spec.dtype
    on_cpu = spec.device.type in ("cpu", "lazy")
    return element.is_floating_point and element is not float64 and on_cpu


def _tensors(value: Any) -> Iterator[TensorBase]:
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)


def converted(value: Any, element: dtype) -> Any:
    """An argument with its eligible tensors in another dtype."""
    if isinstance(value, TensorBase):
        return t.to(value, element) if is_eligible(value) else value
    if isinstance(value, (list, tuple)):
        return type(value)(converted(each, element) for each in value)
    return value


def _lower(args: tuple[Any, ...]) -> dtype:
    return state.autocast_dtype


def _float32(args: tuple[Any, ...]) -> dtype:
    return float32


def _widest(args: tuple[Any, ...]) -> dtype:
    """The widest of the eligible tensors' dtypes."""
    found = state.autocast_dtype
    for tensor in _tensors(args):
        if is_eligible(tensor):
            found = promote_types(found, tensor._spec.dtype)
    return found


_CHOICES: dict[str, Callable[[tuple[Any, ...]], dtype]] = {
    "lower": _lower, "float32": _float32, "promote": _widest,
}  # fmt: skip


def _kernel(choice: Callable[[tuple[Any, ...]], dtype]) -> Callable[..., Any]:
    def autocast_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
        with key_guard(exclude=AUTOCAST):
            element = choice(args)
            cast = tuple(converted(value, element) for value in args)
            return redispatch(op, keys - AUTOCAST, cast)

    return autocast_kernel


_KERNELS = {policy: _kernel(choice) for policy, choice in _CHOICES.items()}


def _install(op: OpDef) -> None:
    if op.autocast and op.functional is None:
        registry.register(
            op.full_name, DispatchKey.AutocastCPU, _KERNELS[op.autocast], where=op.where, boxed=True
        )


registry.register_fallback(DispatchKey.AutocastCPU, FALLTHROUGH)
subscribe(_install)
