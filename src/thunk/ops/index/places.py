"""The places of elements that are not zero, and one-hot rows for places."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.types.dtype import int64
from thunk.types.spec import make_spec

_PLACES = NoGradient("the result is made of indices")

declare(
    "_nonzero_columns(Tensor self) -> Tensor",
    doc="The coordinates of the elements that are not zero, a column each.",
    spec=lambda self: make_spec((self.ndim, 0), int64, self.device),
    vjp=_PLACES,
    dynamic_shape=True,
    variants="",
)


@composite("nonzero(Tensor self) -> Tensor", variants="function method out exact")
def nonzero(self: Any) -> Any:
    """The coordinates of the elements that are not zero, a row each."""
    # Coordinates of one dimension lie together in memory, as in PyTorch.
    return t.detach(t.t(t._nonzero_columns(self)))


@composite("nonzero.as_tuple(Tensor self, *, bool as_tuple, Tensor? out=None) -> Tensor[]")
def nonzero_tuple(self: Any, as_tuple: bool, out: Any) -> Any:
    """As `nonzero`; with `as_tuple`, a tensor a dimension."""
    if not as_tuple:
        return t.nonzero(self) if out is None else t.nonzero(self, out=out)
    if out is not None:
        raise expected("as_tuple=False with out=", "as_tuple=True", "drop out=")
    return t.nonzero_numpy(self)


@composite("nonzero_numpy(Tensor self) -> Tensor[]", variants="")
def nonzero_numpy(self: Any) -> Any:
    """The coordinates of the elements that are not zero, a tensor a dimension."""
    if not self._spec.shape:
        self = t.unsqueeze(self, 0)
    return t.unbind(t._nonzero_columns(self), 0)


@composite("argwhere(Tensor self) -> Tensor")
def argwhere(self: Any) -> Any:
    """The coordinates of the elements that are not zero, a row each."""
    return t.nonzero(self)


def _nonzero_static(self: Any, size: int, fill_value: int) -> Any:
    if size < 0:
        raise Mismatch(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    return make_spec((size, self.ndim), int64, self.device)


declare(
    "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
    doc="The first `size` rows of `nonzero`, filled up with `fill_value`.",
    spec=_nonzero_static,
    vjp=_PLACES,
    variants="function method out",
)


@composite("one_hot(Tensor self, int num_classes=-1) -> Tensor", variants="function", module="nn")
def one_hot(self: Any, num_classes: int) -> Any:
    """For every class number a row of zeros with a one at its place."""
    spec = self._spec
    if spec.dtype is not int64:
        raise expected("an index tensor of dtype int64", repr(spec.dtype), "use .long()")
    if not spec.numel:
        if num_classes <= 0:
            raise Mismatch("Can not infer total number of classes from empty tensor.")
        return t.zeros((*spec.shape, num_classes), dtype=int64, device=spec.device)
    if num_classes == 0:
        raise Mismatch("num_classes should be positive, got 0")
    if num_classes < 0:
        num_classes = t.max(self).item() + 1
    blank = t.zeros((*spec.shape, max(num_classes, 1)), dtype=int64, device=spec.device)
    return t.scatter(blank, -1, t.unsqueeze(self, -1), 1)
