"""Enters: a tensor. Leaves: its history: gradient flags, producer, view relation, hooks.

Invariant: a tensor without a `History` is a constant that is not a view. `edge_of` is the only
place that says where a tensor's gradient goes.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from thunk.types.tensor_base import TensorBase

if TYPE_CHECKING:
    from thunk.autograd.node import Node


class Edge(NamedTuple):
    """Where a gradient flows: output `index` of `node`."""

    node: Node
    index: int  # type: ignore[assignment]  # hides tuple.index, which has no use here


class History:
    """What autograd knows of one tensor."""

    __slots__ = (
        "accumulator", "base", "creation", "grad", "grad_fn", "hooks", "name", "output_index",
        "post_accumulate_hooks", "requires_grad", "retains_grad", "view_version",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requires_grad = False
        self.grad: TensorBase | None = None
        self.grad_fn: Node | None = None
        self.output_index = 0
        self.accumulator: weakref.ref[Node] | None = None
        self.base: TensorBase | None = None
        self.creation = ""  # why an in-place write to this view must be refused, if it must
        self.view_version = 0
        self.hooks: dict[int, Any] | None = None
        self.post_accumulate_hooks: dict[int, Any] | None = None
        self.retains_grad = False
        self.name: str | None = None


def history_of(tensor: TensorBase) -> History:
    """The history of `tensor`, made on first use."""
    history: History | None = tensor._history
    if history is None:
        history = tensor._history = History()
    return history


def requires_grad(tensor: TensorBase) -> bool:
    """Whether gradients flow to `tensor`; a view's base counts even if made under no_grad."""
    history: History | None = tensor._history
    if history is None:
        return False
    if history.requires_grad or history.grad_fn is not None:
        return True
    return history.base is not None and requires_grad(history.base)
