"""Pooling: windows of signals, pictures and volumes reduced to one element each.

Enters: (sample, channel, places) or one sample of it. Leaves: the same with fewer places
(unpooling: more). Invariant: what a window is follows from the arguments alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.nn import functional as F
from thunk.nn.modules.module import Module
from thunk.nn.modules.pooling_fractional import FractionalMaxPool2d, FractionalMaxPool3d
from thunk.nn.modules.utils import _pair, _single, _triple, at_home

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d",
    "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip

at_home(__name__, FractionalMaxPool2d, FractionalMaxPool3d)


class _MaxPoolNd(Module):
    """The arguments of max pooling."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _pool(self, pool: Any, input: Any) -> Any:
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.dilation,
            ceil_mode=self.ceil_mode, return_indices=self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The geometry of the windows."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of signals."""

    def forward(self, input: Any) -> Any:
        """The maxima, with their places if `return_indices` is set."""
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of pictures."""

    def forward(self, input: Any) -> Any:
        """The maxima, with their places if `return_indices` is set."""
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of volumes."""

    def forward(self, input: Any) -> Any:
        """The maxima, with their places if `return_indices` is set."""
        return self._pool(F.max_pool3d, input)


class _WindowNd(Module):
    """The text of a module with windows."""

    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        """The geometry of the windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _MaxUnpoolNd(_WindowNd):
    """What the inverses of max pooling share."""


class MaxUnpool1d(_MaxUnpoolNd):
    """The inverse of `MaxPool1d`: maxima back at their places, zeros elsewhere."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)

    def forward(
        self, input: Any, indices: Any, output_size: Sequence[int] | None = None
    ) -> Any:
        """Signals with the maxima at `indices`."""
        return F.max_unpool1d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool2d(_MaxUnpoolNd):
    """The inverse of `MaxPool2d`: maxima back at their places, zeros elsewhere."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride if stride is not None else kernel_size)
        self.padding = _pair(padding)

    def forward(
        self, input: Any, indices: Any, output_size: Sequence[int] | None = None
    ) -> Any:
        """Pictures with the maxima at `indices`."""
        return F.max_unpool2d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool3d(_MaxUnpoolNd):
    """The inverse of `MaxPool3d`: maxima back at their places, zeros elsewhere."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = _triple(kernel_size)
        self.stride = _triple(stride if stride is not None else kernel_size)
        self.padding = _triple(padding)

    def forward(
        self, input: Any, indices: Any, output_size: Sequence[int] | None = None
    ) -> Any:
        """Volumes with the maxima at `indices`."""
        return F.max_unpool3d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class _AvgPoolNd(_WindowNd):
    """What average pooling of any number of dimensions shares."""


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of signals."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Any) -> Any:
        """The means."""
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip


class _AvgPool(_AvgPoolNd):
    """Average pooling of two or three dimensions, whose divisor can be chosen."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _pool(self, pool: Any, input: Any) -> Any:
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool2d(_AvgPool):
    """The mean of each window of pictures."""

    def forward(self, input: Any) -> Any:
        """The means."""
        return self._pool(F.avg_pool2d, input)


class AvgPool3d(_AvgPool):
    """The mean of each window of volumes."""

    def forward(self, input: Any) -> Any:
        """The means."""
        return self._pool(F.avg_pool3d, input)

    def __setstate__(self, state: dict[str, Any]) -> None:
        usual = {"padding": 0, "ceil_mode": False, "count_include_pad": True}
        super().__setstate__({**usual, **state})


class _LPPoolNd(Module):
    """The arguments of pooling by p-norms."""

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _pool(self, pool: Any, input: Any) -> Any:
        return pool(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        """All arguments."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of signals."""

    def forward(self, input: Any) -> Any:
        """The norms."""
        return self._pool(F.lp_pool1d, input)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of pictures."""

    def forward(self, input: Any) -> Any:
        """The norms."""
        return self._pool(F.lp_pool2d, input)


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of volumes."""

    def forward(self, input: Any) -> Any:
        """The norms."""
        return self._pool(F.lp_pool3d, input)


class _AdaptivePoolNd(Module):
    """What pooling to a given size shares."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """The size of the result."""
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    """What max pooling to a given size shares."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest element of each of `output_size` windows of signals."""

    def forward(self, input: Any) -> Any:
        """The maxima, with their places if `return_indices` is set."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest element of each of `output_size` windows of pictures."""

    def forward(self, input: Any) -> Any:
        """The maxima, with their places if `return_indices` is set."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest element of each of `output_size` windows of volumes."""

    def forward(self, input: Any) -> Any:
        """The maxima, with their places if `return_indices` is set."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    """What average pooling to a given size shares."""


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` windows of signals."""

    def forward(self, input: Any) -> Any:
        """The means."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` windows of pictures."""

    def forward(self, input: Any) -> Any:
        """The means."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` windows of volumes."""

    def forward(self, input: Any) -> Any:
        """The means."""
        return F.adaptive_avg_pool3d(input, self.output_size)
