"""Elements by their row-major number: take, put, unravel_index."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite, declare
from thunk.ops.index.checks import expect_long, expect_same_dtype
from thunk.ops.registry import t
from thunk.ops.rules.zeros import zeros_for
from thunk.types.dtype import INTEGRAL
from thunk.types.spec import TensorSpec


def _take(self: TensorSpec, index: TensorSpec) -> TensorSpec:
    expect_long(index)
    if not self.numel and index.numel:
        raise Mismatch("take(): tried to take from an empty tensor", IndexError)
    return self.with_shape(index.shape)


declare(
    "take(Tensor self, Tensor index) -> Tensor",
    doc="The elements of the flattened tensor at the places of `index`.",
    spec=_take,
    vjp={
        "self": lambda grad, self_spec, index: t.put(
            zeros_for(grad, self_spec), index, grad, True
        )
    },
    raises_on_data="index",
    variants="function method out apart exact",
)


def _put(self: TensorSpec, index: TensorSpec, source: TensorSpec, accumulate: bool) -> TensorSpec:
    expect_long(index)
    expect_same_dtype(self, source)
    if index.numel != source.numel:
        raise expected(
            "source and index to have the same number of elements",
            f"source.numel() = {source.numel}, index.numel() = {index.numel}",
        )
    if not self.numel and index.numel:
        raise Mismatch("put_(): tried to put elements into an empty tensor", IndexError)
    return self.fresh()


def _put_back_self(grad: Any, index: Any, source_spec: TensorSpec, accumulate: bool) -> Any:
    return grad if accumulate else t.put(grad, index, zeros_for(grad, source_spec), False)


declare(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    doc="A copy of `self` with `source` set or added at places of the flattened tensor.",
    spec=_put,
    vjp={
        "self": _put_back_self,
        "source": lambda grad, index, source_spec: t.reshape(
            t.take(grad, index), source_spec.shape
        ),
    },
    raises_on_data="index",
    variants="function method inplace",
)


@composite("unravel_index(Tensor indices, SymInt[1] shape) -> Tensor[]", variants="function")
def unravel_index(indices: Any, shape: tuple[int, ...]) -> Any:
    """The coordinates, in a tensor of `shape`, of elements given by their row-major number."""
    if indices._spec.dtype.category != INTEGRAL:
        raise expected(
            "'indices' to be an integer tensor", repr(indices._spec.dtype), "convert it",
            ValueError,
        )  # fmt: skip
    if any(size < 0 for size in shape):
        raise expected("'shape' without negative sizes", f"{shape}", "", ValueError)
    found: list[Any] = []
    for size in reversed(shape):
        found.append(t.remainder(indices, size))
        indices = t.div(indices, size, rounding_mode="floor")
    return tuple(reversed(found))
