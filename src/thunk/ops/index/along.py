"""Whole slices along a dimension: index_select, _add, _copy, _fill, _reduce."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import declare
from thunk.ops.index.checks import (
    expect_integers,
    expect_long,
    expect_same_dtype,
    expect_vector,
    nonempty,
)
from thunk.ops.index.reducing import REDUCTIONS, Paths, reduced_back
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.ops.rules.numbers import check_fits
from thunk.ops.rules.zeros import zeros_for
from thunk.types.spec import TensorSpec


def _index_select(self: TensorSpec, dim: int, index: TensorSpec) -> TensorSpec:
    expect_vector(index)
    expect_integers(index)
    place = wrap_dim(dim, self.ndim)
    if not self.shape:
        if index.numel != 1:
            raise Mismatch(
                "Index to scalar can have only 1 value, got "
                f"{index.numel} value(s)", IndexError
            )  # fmt: skip
        return self.with_shape(())
    return self.with_shape((*self.shape[:place], index.numel, *self.shape[place + 1 :]))


declare(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    doc="The slices along `dim` at the places of `index`.",
    spec=_index_select,
    vjp={
        "self": lambda grad, self_spec, dim, index: t.index_add(
            zeros_for(grad, self_spec), dim, index, grad
        )
    },
    raises_on_data="index",
    variants="function method out exact",
)


def _expect_slices(self: TensorSpec, dim: int, index: TensorSpec, source: TensorSpec) -> None:
    """Raise unless `source` holds one slice of `self` for every element of `index`."""
    place = wrap_dim(dim, self.ndim)
    own, other = nonempty(self.shape), nonempty(source.shape)
    if len(own) != len(other) and source.ndim and self.ndim:
        raise Mismatch(
            "Source/destination tensor must have same number of dimensions, got "
            f"{source.ndim} and {self.ndim}"
        )
    if index.numel != other[min(place, len(other) - 1)]:
        raise Mismatch(
            f"Number of indices ({index.numel}) should be equal to source.size(dim): "
            f"({other[min(place, len(other) - 1)]}), for dim: {dim}"
        )
    for axis, (want, have) in enumerate(zip(own, other)):
        if axis != place and want != have:
            raise Mismatch(
                "Source/destination tensor must have same slice shapes except at dimension "
                f"{place} Destination slice shape: {list(self.shape)} and source slice shape: "
                f"{list(source.shape)}."
            )


def _index_add(
    self: TensorSpec, dim: int, index: TensorSpec, source: TensorSpec, alpha: Any
) -> TensorSpec:
    expect_vector(index)
    expect_integers(index)
    expect_same_dtype(self, source)
    _expect_slices(self, dim, index, source)
    check_fits(alpha, self.dtype)
    return self.with_shape(self.shape)


def slices_at(grad: Any, dim: int, index: Any, source_spec: TensorSpec) -> Any:
    """The slices of `grad` that `source` went to."""
    if source_spec.shape:
        return t.index_select(grad, dim, index).expand(source_spec.shape)
    return t.reshape(t.index_select(grad, dim, t.reshape(index, (1,))), ())


def _add_back_source(
    grad: Any, dim: int, index: Any, source_spec: TensorSpec, alpha: Any
) -> Any:
    found = slices_at(grad, dim, index, source_spec)
    if alpha == 1:
        return found
    return found * (alpha.conjugate() if isinstance(alpha, complex) else alpha)


declare(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    doc="A copy of `self` with `alpha` times slices of `source` added at the places of `index`.",
    spec=_index_add,
    vjp={"self": lambda grad: grad, "source": _add_back_source},
    raises_on_data="index",
    variants="function method inplace out exact",
)


def _index_copy(self: TensorSpec, dim: int, index: TensorSpec, source: TensorSpec) -> TensorSpec:
    wrap_dim(dim, self.ndim)
    expect_vector(index)
    if source.ndim == 0 and index.numel != 1:
        raise Mismatch(
            "When source is scalar, index should have one element (got "
            f"{index.numel})", IndexError
        )  # fmt: skip
    if source.ndim != self.ndim and source.ndim and self.ndim:
        raise Mismatch(
            "When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})",
            IndexError,
        )
    expect_long(index, IndexError)
    expect_same_dtype(self, source)
    place = wrap_dim(dim, self.ndim)
    if source.ndim:
        own, other = nonempty(self.shape), source.shape
        if own[:place] + own[place + 1 :] != other[:place] + other[place + 1 :]:
            raise Mismatch(
                "Source/destination tensor must have same slice shapes. Destination slice shape: "
                f"{list(self.shape)} at dimension {place} and source slice shape: {list(other)}"
            )
        if index.numel != other[place]:
            raise Mismatch(
                f"Number of indices ({index.numel}) should be equal to source.size(dim) "
                f"({other[place]})", IndexError
            )  # fmt: skip
    return self.with_shape(self.shape)


declare(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    doc="A copy of `self` with slices of `source` at the places of `index`.",
    spec=_index_copy,
    vjp={
        "self": lambda grad, dim, index: t.index_fill(grad, dim, index, 0),
        "source": slices_at,
    },
    raises_on_data="index",
    variants="function method inplace out exact",
)


def _index_fill(self: TensorSpec, dim: int, index: TensorSpec, value: Any) -> TensorSpec:
    expect_long(index, IndexError)
    expect_vector(index)
    wrap_dim(dim, self.ndim)
    if isinstance(value, TensorSpec):
        if value.shape:
            raise Mismatch(
                "Only supports 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        complex_value = value.dtype.is_complex
    else:
        complex_value = isinstance(value, complex)
    if complex_value and not self.dtype.is_complex:
        raise Mismatch("Converting complex Scalar to non-complex type is not supported")
    return self.fresh()


def _fill_back_value(grad: Any, self_spec: TensorSpec, dim: int, index: Any) -> Any:
    size = nonempty(self_spec.shape)[wrap_dim(dim, self_spec.ndim)]
    filled = t.index_fill(t.zeros((size,), dtype=grad.dtype, device=grad.device), 0, index, 1)
    shape = [1] * self_spec.ndim
    if shape:
        shape[dim] = size
    return t.sum(grad * t.reshape(filled, shape))


declare(
    "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    doc="A copy of `self` with the value of a 0-dim tensor in the slices at `index`.",
    spec=_index_fill,
    vjp={
        "self": lambda grad, dim, index: t.index_fill(grad, dim, index, 0),
        "value": _fill_back_value,
    },
    raises_on_data="index",
    variants="function method inplace out",
)
declare(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    doc="A copy of `self` with one value in the slices at `index`.",
    spec=_index_fill,
    vjp={"self": lambda grad, dim, index: t.index_fill(grad, dim, index, 0)},
    raises_on_data="index",
    variants="function method inplace out",
)


def _index_reduce(
    self: TensorSpec, dim: int, index: TensorSpec, source: TensorSpec, reduce: str,
    include_self: bool,
) -> TensorSpec:  # fmt: skip
    if reduce not in REDUCTIONS[1:]:
        raise expected(
            "reduce to be one of prod, mean, amax or amin", repr(reduce), "use index_add for sums"
        )
    expect_vector(index)
    expect_integers(index)
    expect_same_dtype(self, source)
    _expect_slices(self, dim, index, source)
    return self.with_shape(self.shape)


def _paths_along(dim: int, index: Any, source: Any) -> Paths:
    spec = source._spec
    return Paths(
        collect=lambda value: slices_at(value, dim, index, spec),
        add=lambda target, value: t.index_add(target, dim, index, value),
        reduce=lambda target, value, include: t.index_reduce(
            target, dim, index, value, "prod", include_self=include
        ),
        clear=lambda value: t.index_fill(value, dim, index, 0),
        name="index_reduce",
    )


declare(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
    "bool include_self=True) -> Tensor",
    doc="Slices of `source` reduced into a copy of `self` at the places of `index`.",
    spec=_index_reduce,
    vjp={
        ("self", "source"): lambda grad, self, dim, index, source, reduce, include_self, result: (
            reduced_back(
                grad, self, source, result, reduce, include_self, _paths_along(dim, index, source)
            )
        )
    },
    raises_on_data="index",
    variants="function method inplace out exact",
)
