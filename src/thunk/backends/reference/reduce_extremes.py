"""NumPy rules of the largest and smallest: values and indices; NaN counts as extreme."""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.backends.reference.reduce import axes
from thunk.types.spec import TensorSpec


@rule("amax", half="float32")
def amax(spec: TensorSpec, self: Any, dim: Any, keepdim: bool) -> Any:
    return self.max(axes(dim, self.ndim), keepdims=keepdim) if spec.numel else empty(spec)


@rule("amin", half="float32")
def amin(spec: TensorSpec, self: Any, dim: Any, keepdim: bool) -> Any:
    return self.min(axes(dim, self.ndim), keepdims=keepdim) if spec.numel else empty(spec)


def empty(spec: TensorSpec) -> Any:
    """An array without elements, for reductions that NumPy refuses."""
    return numpy.empty(spec.shape, spec.dtype.numpy)


def _with_index(find: Any, specs: Any, self: Any, dim: int, keepdim: bool) -> Any:
    values, indices = specs
    if not values.numel:
        return empty(values), empty(indices)
    if not self.ndim:
        return self.copy(), numpy.zeros((), numpy.int64)
    where = find(self, dim, keepdims=True)
    found = numpy.take_along_axis(self, where, dim)
    return (found, where) if keepdim else (found.squeeze(dim), where.squeeze(dim))


@rule("max.dim", half="float32")
def max_dim(specs: Any, self: Any, dim: int, keepdim: bool) -> Any:
    return _with_index(_argmax, specs, self, dim, keepdim)


@rule("min.dim", half="float32")
def min_dim(specs: Any, self: Any, dim: int, keepdim: bool) -> Any:
    return _with_index(_argmin, specs, self, dim, keepdim)


def _argmax(self: Any, axis: int | None, keepdims: bool) -> Any:
    return numpy.argmax(self, axis, keepdims=keepdims)


def _argmin(self: Any, axis: int | None, keepdims: bool) -> Any:
    return numpy.argmin(self, axis, keepdims=keepdims)


def _position(find: Any, spec: TensorSpec, self: Any, dim: int | None, keepdim: bool) -> Any:
    if not spec.numel:
        return empty(spec)
    if not self.ndim:
        return numpy.zeros((), numpy.int64)
    return find(self, dim, keepdim)


@rule("argmax", half="float32")
def argmax(spec: TensorSpec, self: Any, dim: int | None, keepdim: bool) -> Any:
    return _position(_argmax, spec, self, dim, keepdim)


@rule("argmin", half="float32")
def argmin(spec: TensorSpec, self: Any, dim: int | None, keepdim: bool) -> Any:
    return _position(_argmin, spec, self, dim, keepdim)
