"""Enters: what a custom forward returned. Leaves: the same tensors as outputs of its node.

Invariant: an input returned as it came becomes a view of itself, so that the caller's tensor keeps
its own history; only inputs marked dirty are rebound.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd.edges import MADE_BY_FUNCTION
from thunk.autograd.inplace import check_writable, rebind
from thunk.autograd.meta import Edge, history_of, requires_grad
from thunk.autograd.node import set_history
from thunk.dispatch.state import no_grad_recording
from thunk.ops.registry import t
from thunk.runtime.tensors import count_write
from thunk.types.tensor_base import TensorBase


def finish_outputs(ctx: Any, inputs: list[Any], outputs: list[Any], recording: bool) -> list[Any]:
    """Give every differentiable output its place behind `ctx`."""
    dirty = {id(each) for each in ctx.dirty_tensors}
    given = {id(each) for each in inputs}
    returned = {id(each) for each in outputs}
    if any(id(each) not in returned for each in ctx.dirty_tensors):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function."
        )
    for each in ctx.dirty_tensors:
        count_write(each)
    if not recording:
        return outputs
    constant = {id(each) for each in ctx.non_differentiable}
    ctx._constant_outputs = frozenset(i for i, o in enumerate(outputs) if id(o) in constant)
    ctx.output_specs = [o._spec if isinstance(o, TensorBase) else None for o in outputs]
    ctx.output_count = len(outputs)
    finished = []
    for index, output in enumerate(outputs):
        plain = not isinstance(output, TensorBase) or not output._spec.dtype.is_inexact
        if plain or id(output) in constant:
            finished.append(output)
        elif id(output) in dirty:
            finished.append(_rebound(ctx, output, index))
        else:
            finished.append(_produced(ctx, output, index, id(output) in given))
    ctx.keep(finished)
    return finished


def _rebound(ctx: Any, output: Any, index: int) -> Any:
    if requires_grad(output):
        check_writable(type(ctx).__name__, output, True)
    rebind(output, Edge(ctx, index))
    return output


def _produced(ctx: Any, output: Any, index: int, is_input: bool) -> Any:
    if is_input:
        with no_grad_recording():
            output = t.alias(output)
    history = history_of(output)
    if history.base is not None:
        history.creation = MADE_BY_FUNCTION
    history.requires_grad = True
    set_history(output, ctx, index)
    return output
