"""Elements moved between channels and space, or among channels.

Enters: pictures. Leaves: the same elements elsewhere, in new memory. Invariant: only views and one
copy; the result keeps the memory format of its input.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import alias, composite
from thunk.ops.registry import t
from thunk.ops.rules.spatial import suggests_channels_last
from thunk.types.layout import channels_last, contiguous_format


def _regrouped(self: Any, groups: Any, order: Any, shape: Any) -> Any:
    """A copy of `self` seen as `groups`, its dimensions in `order`, seen as `shape`."""
    moved = self.reshape(groups).permute(order)
    result = t.clone(moved, memory_format=contiguous_format).reshape(shape)
    if len(shape) == 4 and suggests_channels_last(self._spec):
        return result.contiguous(memory_format=channels_last)
    return result


def _check_rank(self: Any) -> None:
    if self.ndim < 3:
        raise Mismatch(
            f"expects input to have at least 3 dimensions, but got input with {self.ndim} "
            "dimension(s)"
        )


@composite("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", variants="function")
def pixel_shuffle(self: Any, upscale_factor: int) -> Any:
    """Channels spread over space: (C * r * r, H, W) becomes (C, H * r, W * r)."""
    _check_rank(self)
    r = upscale_factor
    if r <= 0:
        raise Mismatch(f"expects a positive upscale_factor, but got {r}")
    *lead, channels, height, width = self.shape
    if channels % (r * r):
        raise Mismatch(
            "expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    out, n = channels // (r * r), len(lead)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    groups = [*lead, out, r, r, height, width]
    return _regrouped(self, groups, order, [*lead, out, height * r, width * r])


@composite("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", variants="function")
def pixel_unshuffle(self: Any, downscale_factor: int) -> Any:
    """Space gathered into channels: (C, H * r, W * r) becomes (C * r * r, H, W)."""
    _check_rank(self)
    r = downscale_factor
    if r <= 0:
        raise Mismatch(f"expects a positive downscale_factor, but got {r}")
    *lead, channels, height, width = self.shape
    for name, size in (("height", height), ("width", width)):
        if size % r:
            raise Mismatch(
                f"expects {name} to be divisible by downscale_factor, but {size} is not divisible "
                f"by {r}"
            )
    n = len(lead)
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    groups = [*lead, channels, height // r, r, width // r, r]
    return _regrouped(self, groups, order, [*lead, channels * r * r, height // r, width // r])


@composite("channel_shuffle(Tensor self, SymInt groups) -> Tensor", variants="function")
def channel_shuffle(self: Any, groups: int) -> Any:
    """Channels dealt out: the first of every group, then the second of every group..."""
    if self.ndim <= 2:
        raise Mismatch(f"expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    if groups <= 0:
        raise Mismatch(f"Number of groups to divide channels in must be positive, got {groups}")
    batch, channels, *rest = self.shape
    if channels % groups:
        raise Mismatch(f"Number of channels must be divisible by groups, got {channels}, {groups}")
    order = [0, 2, 1, *range(3, len(rest) + 3)]
    split = [batch, groups, channels // groups, *rest]
    return _regrouped(self, split, order, list(self.shape))


alias("native_channel_shuffle", "channel_shuffle")
