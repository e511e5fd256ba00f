"""Counting into bins: bincount and histograms."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import expected
from thunk.ir.opdef import MissingGradient, NoGradient
from thunk.ops.declare import composite, declare
from thunk.ops.reduce.shapes import refuse_dtypes
from thunk.ops.registry import t
from thunk.types.dtype import bfloat16, float16
from thunk.types.spec import TensorSpec, make_spec

_COUNTS = NoGradient("counts are constant almost everywhere")
_RANGED = "float[]? range=None, Tensor? weight=None, bool density=False"


def _bincount(self: TensorSpec, weights: TensorSpec | None, minlength: int) -> None:
    refuse_dtypes(self, "bool", "complex", "wide unsigned")
    if self.dtype.is_inexact:
        raise expected("integers", repr(self.dtype), "convert them", kind=NotImplementedError)
    if minlength < 0:
        raise expected("minlength to be >= 0", minlength)
    if self.ndim != 1:
        raise expected("1-d non-negative integral inputs", f"{self.ndim} dimensions")
    if weights is not None and (weights.ndim != 1 or weights.shape != self.shape):
        raise expected(
            "weights of one dimension and the input's length", f"shape {list(weights.shape)}"
        )


declare(
    "bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
    doc="How often, or with what sum of weights, each small integer occurs.",
    spec=_bincount,
    vjp=_COUNTS,
    variants="function method out",
    dynamic_shape=True,
    raises_on_data="self",
)


def _histc(self: TensorSpec, bins: int, min: Any, max: Any) -> TensorSpec:
    if not self.dtype.is_floating_point:
        raise expected("floating point values", repr(self.dtype), kind=NotImplementedError)
    _check_bins(bins)
    for bound in (min, max):
        if isinstance(bound, complex) or not math.isfinite(bound):
            raise expected("a finite range", f"[{min}, {max}]")
    if min > max:
        raise expected("max to be larger than min", f"[{min}, {max}]")
    return make_spec((bins,), self.dtype, self.device)


def _check_bins(bins: int) -> None:
    if bins <= 0:
        raise expected("bins to be > 0", bins)


declare(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    doc="Counts of the elements in equal bins between `min` and `max`.",
    spec=_histc,
    vjp=MissingGradient("counts do not change smoothly with the elements"),
    variants="function method out",
    static="min max",
    raises_on_data="self",
)


def _check_histogram(self: TensorSpec, weight: TensorSpec | None, count: int) -> None:
    """What a histogram of `count` coordinates asks of its values, weights and range."""
    refuse_dtypes(self, "bool", "integral", "complex")
    if self.dtype in (float16, bfloat16):
        raise expected("float32 or float64", repr(self.dtype), kind=NotImplementedError)
    if self.ndim < 2:
        raise expected("a tensor with at least 2 dimensions", f"{self.ndim}")
    if self.shape[-1] != count:
        raise expected(f"bins for {self.shape[-1]} dimensions", f"{count}")
    if weight is None:
        return
    if weight.dtype is not self.dtype:
        raise expected(f"weight of dtype {self.dtype!r}", repr(weight.dtype))
    if weight.shape != self.shape[:-1]:
        raise expected(f"weight of shape {list(self.shape[:-1])}", f"{list(weight.shape)}")


def _check_range(range: Any, count: int) -> None:
    if range is None:
        return
    if len(range) != 2 * count:
        raise expected(f"a range of {2 * count} numbers", f"{len(range)}")
    for low, high in zip(range[::2], range[1::2], strict=True):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise expected("a finite range", f"[{low}, {high}]")
        if low > high:
            raise expected("a range whose min does not exceed its max", f"[{low}, {high}]")


def _by_count(self: TensorSpec, bins: Any, range: Any, weight: Any, density: bool) -> Any:
    _check_histogram(self, weight, len(bins))
    _check_range(range, len(bins))
    for each in bins:
        _check_bins(each)
    edges = [make_spec((each + 1,), self.dtype, self.device) for each in bins]
    return make_spec(tuple(bins), self.dtype, self.device), edges


def _by_edges(self: TensorSpec, bins: Any, range: Any, weight: Any, density: bool) -> Any:
    _check_histogram(self, weight, len(bins))
    for each in bins:
        if each.ndim != 1:
            raise expected("bin edges of one dimension", f"{each.ndim}")
        if not each.numel:
            raise expected("at least one bin edge", "none")
        if each.dtype is not self.dtype:
            raise expected(f"bin edges of dtype {self.dtype!r}", repr(each.dtype))
    shape = tuple(each.numel - 1 for each in bins)
    edges = [make_spec(each.shape, self.dtype, self.device) for each in bins]
    return make_spec(shape, self.dtype, self.device), edges


declare(
    f"histogramdd(Tensor self, int[] bins, {_RANGED}) -> (Tensor hist, Tensor[] bin_edges)",
    doc="Counts of points in the equal cells of a grid.",
    spec=_by_count,
    vjp=_COUNTS,
    variants="function",
    static="range",
    raises_on_data="self",
)


@composite(
    f"histogramdd.int_bins(Tensor self, int bins, {_RANGED}) -> (Tensor hist, Tensor[] bin_edges)",
    variants="function",
)
def histogramdd_int(
    self: Any, bins: int, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Counts of points in a grid with as many cells along every dimension."""
    bins_each = [bins] * (self._spec.shape[-1] if self._spec.ndim else 0)
    return t.histogramdd(self, bins_each, range=range, weight=weight, density=density)


declare(
    f"histogramdd.TensorList_bins(Tensor self, Tensor[] bins, {_RANGED})"
    " -> (Tensor hist, Tensor[] bin_edges)",
    doc="Counts of points in the cells between given edges.",
    spec=_by_edges,
    vjp=_COUNTS,
    variants="function",
    static="range",
)


def _one_column(self: Any, weight: Any) -> tuple[Any, Any]:
    if weight is not None:
        if weight._spec.shape != self._spec.shape:
            raise RuntimeError(
                f"histogram: expected weight of shape {list(self._spec.shape)}, "
                f"got {list(weight._spec.shape)}"
            )
        weight = t.reshape(weight, [weight._spec.numel])
    return t.reshape(self, [self._spec.numel, 1]), weight


@composite(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False)"
    " -> (Tensor hist, Tensor bin_edges)",
    variants="function method out",
)
def histogram_edges(self: Any, bins: Any, weight: Any = None, density: bool = False) -> Any:
    """Counts of the elements between given edges."""
    column, weight = _one_column(self, weight)
    hist, edges = t.histogramdd(column, [bins], weight=weight, density=density)
    return hist, edges[0]


@composite(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, "
    "bool density=False) -> (Tensor hist, Tensor bin_edges)",
    variants="function method out",
)
def histogram_count(
    self: Any, bins: int = 100, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Counts of the elements in equal bins."""
    column, weight = _one_column(self, weight)
    hist, edges = t.histogramdd(column, [bins], range=range, weight=weight, density=density)
    return hist, edges[0]
