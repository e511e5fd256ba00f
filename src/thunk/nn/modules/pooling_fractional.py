"""Max pooling in windows of random sizes, so that pictures shrink by any ratio.

Enters: (sample, channel, places) or one sample of it. Leaves: the same with fewer places.
Invariant: exactly one of the result's size and its ratio to the input's is given.
"""

from __future__ import annotations

from typing import Any

from thunk.nn import functional as F
from thunk.nn.modules.module import Module
from thunk.nn.modules.utils import _pair, _triple

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]


class _FractionalMaxPoolNd(Module):
    """The arguments, checked."""

    _random_samples: Any

    def _set_up(
        self, spread: Any, kernel_size: Any, output_size: Any, output_ratio: Any,
        return_indices: bool, random_samples: Any,
    ) -> None:  # fmt: skip
        self.kernel_size = spread(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", random_samples)
        self.output_size = None if output_size is None else spread(output_size)
        self.output_ratio = None if output_ratio is None else spread(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling "
                "ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if any(not 0 < each < 1 for each in self.output_ratio or ()):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _pool(self, pool: Any, input: Any) -> Any:
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest element of each of random windows of pictures."""

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._set_up(
            _pair, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )

    def forward(self, input: Any) -> Any:
        """The maxima, with their places if `return_indices` is set."""
        return self._pool(F.fractional_max_pool2d, input)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest element of each of random windows of volumes."""

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if any(each <= 0 for each in _triple(kernel_size)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self._set_up(
            _triple, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )

    def forward(self, input: Any) -> Any:
        """The maxima, with their places if `return_indices` is set."""
        return self._pool(F.fractional_max_pool3d, input)
