"""`thunk.vision.utils`: batches of pictures as one picture, and pictures as files."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from thunk.lazy.eager import eager
from thunk.ops.registry import t
from thunk.types.dtype import uint8
from thunk.types.tensor_base import TensorBase
from thunk.vision import images, png

__all__ = ["make_grid", "save_image"]


def _batch_of(pictures: Any) -> Any:
    """Pictures as one tensor of pictures x channels x height x width, grey ones as RGB."""
    if isinstance(pictures, list | tuple) and all(isinstance(p, TensorBase) for p in pictures):
        pictures = t.stack(list(pictures), 0)
    if not isinstance(pictures, TensorBase):
        raise TypeError(f"make_grid: tensor or list of tensors expected, got {type(pictures)}")
    batch: Any = pictures
    if batch.dim() == 2:
        batch = batch.unsqueeze(0)
    if batch.dim() == 3:
        batch = batch.unsqueeze(0)
    return t.cat([batch] * 3, 1) if batch.size(1) == 1 else batch


def _scaled(batch: Any, value_range: tuple[float, float] | None) -> Any:
    if value_range is not None and not isinstance(value_range, tuple):
        raise TypeError(
            f"make_grid: value_range has to be a tuple (min, max) if specified, got {value_range}"
        )
    low, high = value_range or (float(batch.min()), float(batch.max()))
    return batch.clamp(low, high).sub(low).div(max(high - low, 1e-5))


def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Any:
    """Pictures side by side, `nrow` in a row, with `padding` pixels between them."""
    batch = _batch_of(tensor)
    if normalize and scale_each:
        batch = t.stack([_scaled(each, value_range) for each in batch.unbind(0)], 0)
    elif normalize:
        batch = _scaled(batch, value_range)
    count, channels = batch.size(0), batch.size(1)
    if count == 1:
        return batch.squeeze(0)
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    height, width = batch.size(2) + padding, batch.size(3) + padding
    grid = batch.new_full((channels, height * rows + padding, width * columns + padding), pad_value)
    for place in range(count):
        top = (place // columns) * height + padding
        left = (place % columns) * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = batch[place]
    return grid


def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Write pictures (values 0 to 1) as one file; other formats than PNG need Pillow."""
    with eager():
        grid = make_grid(tensor, **kwargs)
        scaled = grid.detach().mul(255).add_(0.5).clamp_(0, 255).to(uint8)
        pixels = scaled.permute(1, 2, 0).contiguous().numpy()
    if images.HAS_PILLOW:
        images.Image.fromarray(pixels).save(fp, format=format)
        return
    named = format or (Path(fp).suffix[1:] if isinstance(fp, str | os.PathLike) else "png")
    if named.lower() != "png":
        images.need_pillow(f"save_image as {named!r}")
    data = png.encoded(pixels)
    if isinstance(fp, str | os.PathLike):
        Path(fp).write_bytes(data)
    else:
        fp.write(data)
