"""Products over broadcast batches, and products that choose which dimensions to contract."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import alias, composite
from thunk.ops.pointwise.forms import conjugate
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes, wrap_dim

_FORMS = "function method out"


@composite("matmul(Tensor self, Tensor other) -> Tensor", variants=_FORMS)
def matmul(self: Any, other: Any) -> Any:
    """The product of vectors, matrices or broadcast batches of matrices."""
    left, right = self._spec.ndim, other._spec.ndim
    if left == 0 or right == 0:
        raise Mismatch(
            f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D"
        )
    if left == 1 and right == 1:
        return t.dot(self, other)
    if left == 2 and right == 1:
        return t.mv(self, other)
    if left == 1 and right == 2:
        return t.squeeze(t.mm(t.unsqueeze(self, 0), other), 0)
    if left == 2 and right == 2:
        return t.mm(self, other)
    if left > 2 and right <= 2 and not (right == 1 and other._spec.numel == 0):
        return _folded(self, other)
    return _batched(self, other)


def _folded(self: Any, other: Any) -> Any:
    """A batch times one matrix or vector: one product of a tall matrix."""
    shape = self._spec.shape
    rows = t.reshape(self, (math.prod(shape[:-1]), shape[-1]))
    if other._spec.ndim == 1:
        return t.reshape(t.mv(rows, other), shape[:-1])
    return t.reshape(t.mm(rows, other), (*shape[:-1], other._spec.shape[1]))


def _batched(self: Any, other: Any) -> Any:
    squeezed = []
    if self._spec.ndim == 1:
        self, squeezed = t.unsqueeze(self, 0), [-2]
    if other._spec.ndim == 1:
        other, squeezed = t.unsqueeze(other, -1), [-1]
    left, right = self._spec.shape, other._spec.shape
    batch = broadcast_shapes([left[:-2], right[:-2]])
    count = math.prod(batch)
    first = t.reshape(self.expand((*batch, *left[-2:])), (count, *left[-2:]))
    second = t.reshape(other.expand((*batch, *right[-2:])), (count, *right[-2:]))
    product = t.reshape(t.bmm(first, second), (*batch, left[-2], right[-1]))
    for dim in squeezed:
        product = t.squeeze(product, dim)
    return product


alias("linalg_matmul", "matmul", module="linalg", variants="function out")


@composite("outer(Tensor self, Tensor vec2) -> Tensor", variants=_FORMS)
def outer(self: Any, vec2: Any) -> Any:
    """The products of every element of one vector with every element of another."""
    for name, vector in (("self", self), ("vec2", vec2)):
        if vector._spec.ndim != 1:
            raise Mismatch(f"Expected 1-D argument {name}, but got {vector._spec.ndim}-D")
    return t.unsqueeze(self, 1) * vec2


alias("ger", "outer")


@composite("inner(Tensor self, Tensor other) -> Tensor", variants=_FORMS)
def inner(self: Any, other: Any) -> Any:
    """The sum of products over the last dimension of both."""
    left, right = self._spec, other._spec
    if not left.shape or not right.shape:
        return self * other
    if left.shape[-1] != right.shape[-1]:
        raise Mismatch(
            "the last dimension must match on both input tensors but got shapes "
            f"{list(left.shape)} and {list(right.shape)}"
        )
    return t.tensordot(self, other, (-1,), (-1,))


@composite(
    "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    variants="function out", module="linalg",
)  # fmt: skip
def linalg_vecdot(x: Any, y: Any, dim: int = -1) -> Any:
    """The sum of products along a dimension, `x` conjugated."""
    for each in (x, y):
        if not each._spec.dtype.is_inexact:
            raise Mismatch(
                "linalg.vecdot: Expected a floating point or complex tensor as input, got "
                f"{each._spec.dtype!r}; convert it with .to(...)"
            )
    if x._spec.dtype is not y._spec.dtype:
        raise Mismatch(
            "linalg.vecdot: Expected x and y to have the same dtype, but found "
            f"{x._spec.dtype!r} and {y._spec.dtype!r}"
        )
    if x._spec.ndim == 1 and y._spec.ndim == 1 and x._spec.shape == y._spec.shape:
        wrap_dim(dim, 1)
        return t.vdot(x, y)
    return t.sum(conjugate(x) * y, dim)


@composite("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor")
def tensordot(self: Any, other: Any, dims_self: Any, dims_other: Any) -> Any:
    """The sum of products over the dimensions given for each tensor, in pairs."""
    if len(dims_self) != len(dims_other):
        raise Mismatch(
            f"both dimension lists should have same length, got {list(dims_self)} and "
            f"{list(dims_other)}"
        )
    if self._spec.dtype is not other._spec.dtype:
        raise Mismatch(
            f"both inputs should have same dtype, got {self._spec.dtype!r} and "
            f"{other._spec.dtype!r}"
        )
    first = _distinct(dims_self, self._spec.ndim)
    second = _distinct(dims_other, other._spec.ndim)
    for a, b in zip(first, second, strict=True):
        left, right = self._spec.shape[a], other._spec.shape[b]
        # Broadcast dimensions are summed before the product.
        if right == 1 and left != 1:
            self = t.sum(self, a, keepdim=True)
        elif left == 1 and right != 1:
            other = t.sum(other, b, keepdim=True)
        elif left != right:
            raise Mismatch(
                f"contracted dimensions need to match, but first has size {left} in dim {a} and "
                f"second has size {right} in dim {b}"
            )
    return _contracted(self, other, first, second)


def _distinct(dims: Any, ndim: int) -> list[int]:
    wrapped = [wrap_dim(dim, ndim) for dim in dims]
    if len(set(wrapped)) != len(wrapped):
        raise Mismatch(f"dim {list(dims)} appears multiple times in the list of dims")
    return wrapped


def _contracted(self: Any, other: Any, first: list[int], second: list[int]) -> Any:
    left, right = self._spec, other._spec
    kept_left = [d for d in range(left.ndim) if d not in first]
    kept_right = [d for d in range(right.ndim) if d not in second]
    shape = [left.shape[d] for d in kept_left] + [right.shape[d] for d in kept_right]
    inner_size = math.prod(left.shape[d] for d in first)
    rows = math.prod(left.shape[d] for d in kept_left)
    columns = math.prod(right.shape[d] for d in kept_right)
    a = t.reshape(t.permute(self, kept_left + first), (rows, inner_size))
    b = t.reshape(t.permute(other, second + kept_right), (inner_size, columns))
    return t.reshape(t.mm(a, b), shape)


@composite("tensordot.dims(Tensor a, Tensor b, Any dims=2) -> Tensor", variants="function out")
def tensordot_dims(a: Any, b: Any, dims: Any = 2) -> Any:
    """The sum of products over the last dims of `a` and the first of `b`, or over pairs of dims."""
    if hasattr(dims, "tolist"):
        listed = dims.tolist()
        dims = listed if isinstance(listed, list) and len(listed) > 1 else dims.item()
    if isinstance(dims, (tuple, list)):
        first, second = dims
        first = [first] if isinstance(first, int) else list(first)
        second = [second] if isinstance(second, int) else list(second)
        return t.tensordot(a, b, first, second)
    if dims < 0:
        raise Mismatch(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a._spec.ndim, b._spec.ndim):
        raise Mismatch(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return t.tensordot(a, b, list(range(-dims, 0)), list(range(dims)))


@composite("kron(Tensor self, Tensor other) -> Tensor", variants=_FORMS)
def kron(self: Any, other: Any) -> Any:
    """The Kronecker product: every element of `self` times the whole of `other`."""
    ndim = max(self._spec.ndim, other._spec.ndim)
    left = (1,) * (ndim - self._spec.ndim) + self._spec.shape
    right = (1,) * (ndim - other._spec.ndim) + other._spec.shape
    spread_left = [size for each in left for size in (each, 1)]
    spread_right = [size for each in right for size in (1, each)]
    product = t.reshape(self, spread_left) * t.reshape(other, spread_right)
    return t.reshape(product, [a * b for a, b in zip(left, right, strict=True)])
