"""Enters: operator declarations. Leaves: their autograd, view and in-place kernels, registered.

Invariant: which kernel an operator gets follows from its declaration alone.
"""

from __future__ import annotations

from thunk.autograd.inplace import inplace_kernel
from thunk.autograd.out import out_kernel
from thunk.autograd.record import autograd_kernel
from thunk.autograd.views import view_kernel
from thunk.dispatch.keys import DispatchKey
from thunk.dispatch.registry import registry
from thunk.ir.opdef import OpDef
from thunk.ops.declare import subscribe


def _install(op: OpDef) -> None:
    name = op.full_name
    if op.functional is not None:
        kernel = out_kernel if op.schema.outs else inplace_kernel
        registry.register(
            name, DispatchKey.CompositeImplicitAutograd, kernel, where=op.where, boxed=True
        )
        return
    if op.gradient is not None:
        registry.register(name, DispatchKey.Autograd, autograd_kernel, where=op.where, boxed=True)
    if op.view:
        registry.register(
            name, DispatchKey.CompositeExplicitAutograd, view_kernel, where=op.where, boxed=True
        )


subscribe(_install)
