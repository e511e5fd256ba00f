"""Enters: operator declarations. Leaves: their lazy kernels, registered.

Invariant: every operator that is not made of others has a lazy row, so nothing runs by accident.
"""

from __future__ import annotations

from typing import Any

from thunk.dispatch.keys import DispatchKey, KeySet
from thunk.dispatch.registry import registry
from thunk.ir.opdef import OpDef
from thunk.lazy.calls import on_miss
from thunk.lazy.cut import cut
from thunk.lazy.eager import run_now
from thunk.lazy.inplace import lazy_inplace_kernel
from thunk.lazy.record import lazy_kernel
from thunk.lazy.trace import cutter
from thunk.lazy.trace import on_miss as misses
from thunk.ops.declare import subscribe

_LAZY_KEYS = (DispatchKey.Lazy, DispatchKey.AutogradLazy)


def _install(op: OpDef) -> None:
    if op.is_composite or (op.functional is not None and op.schema.outs):
        return
    if op.schema.namespace != "aten":
        kernel = user_kernel
    elif op.functional is None:
        kernel = lazy_kernel
    else:
        kernel = lazy_inplace_kernel
    for key in _LAZY_KEYS:
        registry.register(op.full_name, key, kernel, where=op.where, boxed=True)


def user_kernel(op: OpDef, keys: KeySet, args: tuple[Any, ...]) -> Any:
    """Operators of user code have kernels that want values."""
    return run_now(op, args)


cutter[:] = [cut]
misses[:] = [on_miss]
subscribe(_install)
