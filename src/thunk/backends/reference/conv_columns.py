"""NumPy rules of sliding blocks as columns."""

from __future__ import annotations

import math
from typing import Any

from thunk.backends.reference.conv import Fields, add_columns, columns
from thunk.backends.reference.kernel import rule
from thunk.ops.conv.columns import blocks
from thunk.ops.conv.geometry import windows
from thunk.types.spec import TensorSpec


def fields_of(size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Fields:
    places = windows(2, stride, padding, dilation, False, (0, 0), 1)
    kernel = tuple(kernel) * (2 // len(kernel))
    out = blocks(size, kernel, places.dilation, places.padding, places.stride)
    return Fields(tuple(size), tuple(out), kernel, places)


@rule("im2col", half="float32")
def im2col(spec: TensorSpec, self: Any, *arguments: Any) -> Any:
    fields = fields_of(self.shape[-2:], *arguments)
    pictures = self if self.ndim == 4 else self[None]
    cells = columns(pictures, fields)  # (C, *kernel, N, *out)
    rows = math.prod(cells.shape[:3])
    result = cells.reshape(rows, len(pictures), math.prod(fields.out)).swapaxes(0, 1)
    return result.reshape(spec.shape)


@rule("col2im", half="float32")
def col2im(spec: TensorSpec, self: Any, output_size: Any, *arguments: Any) -> Any:
    fields = fields_of(spec.shape[-2:], *arguments)
    batch = self if self.ndim == 3 else self[None]
    cells = batch.swapaxes(0, 1)
    shape = (spec.shape[-3], *fields.kernel, len(batch), *fields.out)
    return add_columns(cells.reshape(shape), fields).reshape(spec.shape)
