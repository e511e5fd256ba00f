"""Elements written at indices along one dimension: scatter, scatter_add, scatter_reduce."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import declare
from thunk.ops.index.checks import expect_integers, expect_same_dtype, nonempty
from thunk.ops.index.reducing import REDUCTIONS, Paths, reduced_back
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.ops.rules.numbers import check_fits
from thunk.types.spec import TensorSpec

_FORMS = "function method inplace out exact"


def _expect_places(self: TensorSpec, dim: int, index: TensorSpec, src: Any = None) -> None:
    """Raise unless every element of `index` has a place in `self` and a source in `src`."""
    place = wrap_dim(dim, self.ndim)
    if not index.numel:
        return
    expect_integers(index)
    own, reach = nonempty(self.shape), nonempty(index.shape)
    source = nonempty(src.shape) if isinstance(src, TensorSpec) else reach
    if len(own) != len(reach):
        raise Mismatch(
            "Index tensor must have the same number of dimensions as self tensor, got "
            f"{index.ndim} and {self.ndim}"
        )
    if len(source) != len(reach):
        raise Mismatch(
            "Index tensor must have the same number of dimensions as src tensor, got "
            f"{index.ndim} and {src.ndim}"
        )
    beyond = any(size > have for axis, (size, have) in enumerate(zip(reach, own)) if axis != place)
    if beyond or any(size > have for size, have in zip(reach, source)):
        to_src = f" and to be no larger size than src {list(src.shape)}" if src is not None else ""
        raise Mismatch(
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} "
            f"apart from dimension {place}{to_src}"
        )


def _scatter_src(self: TensorSpec, dim: int, index: TensorSpec, src: TensorSpec) -> TensorSpec:
    _expect_places(self, dim, index, src)
    expect_same_dtype(self, src, "src")
    return self.with_shape(self.shape)


def _scatter_value(self: TensorSpec, dim: int, index: TensorSpec, value: Any) -> TensorSpec:
    _expect_places(self, dim, index)
    check_fits(value, self.dtype)
    return self.with_shape(self.shape)


declare(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    doc="A copy of `self` with the elements of `src` at the places `index` names along `dim`.",
    spec=_scatter_src,
    vjp={
        "self": lambda grad, dim, index: t.scatter(grad, dim, index, 0),
        "src": lambda grad, dim, index, src_spec: _read_back(grad, dim, index, src_spec),
    },
    raises_on_data="index",
    variants=_FORMS,
)
declare(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    doc="A copy of `self` with one value at the places `index` names along `dim`.",
    spec=_scatter_value,
    vjp={"self": lambda grad, dim, index: t.scatter(grad, dim, index, 0)},
    raises_on_data="index",
    variants=_FORMS,
)


def _read_back(grad: Any, dim: int, index: Any, src_spec: TensorSpec) -> Any:
    """What went to the places of `index`, in the shape of `src`, which may be larger."""
    found = t.gather(grad, dim, index)
    shape = found._spec.shape
    if shape == src_spec.shape or not found._spec.numel:
        return found if shape == src_spec.shape else t.zeros(
            src_spec.shape, dtype=grad.dtype, device=grad.device
        )  # fmt: skip
    widths: list[int] = []
    for have, want in zip(reversed(shape), reversed(src_spec.shape), strict=True):
        widths += [0, want - have]
    return t.constant_pad_nd(found, widths, 0)


_REDUCED = MissingGradient("PyTorch has none for scatter with reduce=; use scatter_reduce")


def _expect_reduction(reduce: str) -> None:
    if reduce not in ("add", "multiply"):
        raise expected("reduce to be either add or multiply", repr(reduce), "use scatter_reduce")


def _scatter_reduce_src(
    self: TensorSpec, dim: int, index: TensorSpec, src: TensorSpec, reduce: str
) -> TensorSpec:
    _expect_reduction(reduce)
    return _scatter_src(self, dim, index, src)


def _scatter_reduce_value(
    self: TensorSpec, dim: int, index: TensorSpec, value: Any, reduce: str
) -> TensorSpec:
    _expect_reduction(reduce)
    return _scatter_value(self, dim, index, value)


declare(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    doc="As `scatter.src`, adding or multiplying.",
    spec=_scatter_reduce_src,
    vjp=_REDUCED,
    raises_on_data="index",
    variants=_FORMS,
)
declare(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce)"
    " -> Tensor",
    doc="As `scatter.value`, adding or multiplying.",
    spec=_scatter_reduce_value,
    vjp=_REDUCED,
    raises_on_data="index",
    variants=_FORMS,
)

declare(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    doc="A copy of `self` with the elements of `src` added at the places of `index` along `dim`.",
    spec=_scatter_src,
    vjp={
        "self": lambda grad: grad,
        "src": lambda grad, dim, index, src_spec: _read_back(grad, dim, index, src_spec),
    },
    raises_on_data="index",
    variants=_FORMS,
)


def _scatter_reduce(
    self: TensorSpec, dim: int, index: TensorSpec, src: TensorSpec, reduce: str, include_self: bool
) -> TensorSpec:
    if reduce not in REDUCTIONS:
        raise expected("reduce to be one of sum, prod, mean, amax or amin", repr(reduce))
    return _scatter_src(self, dim, index, src)


def _paths(dim: int, index: Any, src: Any) -> Paths:
    spec = src._spec
    return Paths(
        collect=lambda value: _read_back(value, dim, index, spec),
        add=lambda target, value: t.scatter_add(target, dim, index, value),
        reduce=lambda target, value, include: t.scatter_reduce(
            target, dim, index, value, "prod", include_self=include
        ),
        clear=lambda value: t.scatter(value, dim, index, 0),
        name="scatter_reduce",
    )


declare(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
    "bool include_self=True) -> Tensor",
    doc="The elements of `src` reduced into a copy of `self` at the places of `index` along `dim`.",
    spec=_scatter_reduce,
    vjp={
        ("self", "src"): lambda grad, self, dim, index, src, reduce, include_self, result: (
            reduced_back(grad, self, src, result, reduce, include_self, _paths(dim, index, src))
        )
    },
    raises_on_data="index",
    variants=_FORMS,
)
