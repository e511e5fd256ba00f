"""NumPy rules of resizing: taps applied axis by axis, the last axis first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from thunk.backends.reference import resample_filters as filters
from thunk.backends.reference.kernel import rule
from thunk.backends.reference.resample_bytes import resize_bytes
from thunk.backends.reference.taps import Taps
from thunk.ops.resample.upsample import RESIZES, Resize
from thunk.types.spec import TensorSpec

# size, result's size, align_corners, scale, precision -> taps
AxisTaps = Callable[[int, int, bool, float | None, Any], Taps]


def _nearest(size: int, out: int, aligned: bool, scale: float | None, precision: Any) -> Taps:
    return filters.nearest(size, out, scale, precision)


def _exact(size: int, out: int, aligned: bool, scale: float | None, precision: Any) -> Taps:
    return filters.nearest_exact(size, out, scale, precision)


def _filter(name: str) -> AxisTaps:
    def taps(size: int, out: int, aligned: bool, scale: float | None, precision: Any) -> Taps:
        return filters.filtered(name, size, out, aligned, scale, precision)

    return taps


_TAPS: dict[str, AxisTaps] = {
    "nearest": _nearest,
    "exact": _exact,
    "linear": filters.linear,
    "cubic": filters.cubic,
    **{name: _filter(name) for name in filters.FILTERS},
}


def method_of(resize: Resize) -> str:
    """Which taps an operator uses, from its name: `upsample_bilinear2d` -> `linear`."""
    name = resize.name
    if name.endswith("_aa"):
        return next(method for method in filters.FILTERS if method in name)
    return next(method for method in ("exact", "nearest", "linear", "cubic") if method in name)


def _options(resize: Resize, rest: Sequence[Any]) -> tuple[bool, Sequence[float | None]]:
    return (rest[0], rest[1:]) if resize.aligns else (False, rest)


def taps_of_axes(
    resize: Resize, size: Sequence[int], out: Sequence[int], rest: Sequence[Any], wide: bool
) -> list[Taps]:
    """The taps of every axis, in float64 if `wide`."""
    taps_of = _TAPS[method_of(resize)]
    aligned, scales = _options(resize, rest)
    precision = numpy.float64 if wide else numpy.float32
    return [
        taps_of(size[axis], out[axis], aligned, scales[axis], precision)
        for axis in range(resize.dims)
    ]


def _register(resize: Resize) -> None:
    method = method_of(resize)
    taps_of = _TAPS[method]
    dims = resize.dims

    @rule(resize.name, half="float32")
    def forward(spec: TensorSpec, self: Any, output_size: Any, *rest: Any) -> Any:
        aligned, scales = _options(resize, rest)
        if self.dtype == numpy.uint8 and method not in ("nearest", "exact"):
            return resize_bytes(method, taps_of, self, output_size, aligned, scales)
        precision = numpy.float64 if self.dtype == numpy.float64 else numpy.float32
        result = self
        for d in reversed(range(dims)):
            size, out = self.shape[2 + d], output_size[d]
            result = taps_of(size, out, aligned, scales[d], precision).applied(result, 2 + d)
        return result

    @rule(f"{resize.name}_backward", half="float32")
    def backward(
        spec: TensorSpec, grad_output: Any, output_size: Any, input_size: Any, *rest: Any
    ) -> Any:
        aligned, scales = _options(resize, rest)
        wide = grad_output.dtype == numpy.float64 and method not in ("nearest", "exact")
        precision = numpy.float64 if wide else numpy.float32
        result = grad_output
        for d in range(dims):
            size, out = input_size[2 + d], output_size[d]
            taps = taps_of(size, out, aligned, scales[d], precision)
            result = taps.transposed(size).applied(result, 2 + d)
        return result


for _resize in RESIZES:
    _register(_resize)
