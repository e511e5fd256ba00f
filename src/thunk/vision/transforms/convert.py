"""Enters: parameters. Leaves: transforms between images, arrays and tensors, and of values.

Invariant: each is its function in `functional` with the parameters kept.
"""

from __future__ import annotations

from typing import Any

from thunk.nn.modules.module import Module
from thunk.ops.registry import t
from thunk.types.dtype import dtype as Element
from thunk.types.dtype import float32
from thunk.vision.transforms import functional


class ToTensor:
    """A picture as a tensor: channels first, bytes as floats from 0 to 1."""

    def __call__(self, pic: Any) -> Any:
        return functional.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor(ToTensor):
    """A Pillow image as a tensor of its own numbers, channels first."""

    def __call__(self, pic: Any) -> Any:
        return functional.pil_to_tensor(pic)


class ConvertImageDtype(Module):
    """A tensor of another dtype, its values scaled to that dtype's range."""

    def __init__(self, dtype: Element = float32) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Any) -> Any:
        return functional.convert_image_dtype(image, self.dtype)


class ToPILImage:
    """A tensor or array as a Pillow image."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return functional.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        shown = "" if self.mode is None else f"mode={self.mode}"
        return f"{type(self).__name__}({shown})"


class Normalize(Module):
    """`(tensor - mean) / std`, channel by channel."""

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor: Any) -> Any:
        return functional.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"


class LinearTransformation(Module):
    """A flattened tensor minus a mean, times a matrix: whitening."""

    def __init__(self, transformation_matrix: Any, mean_vector: Any) -> None:
        super().__init__()
        rows, columns = transformation_matrix.size()
        if rows != columns or mean_vector.size(0) != rows:
            raise ValueError(
                "LinearTransformation: transformation_matrix should be square and mean_vector as "
                f"long as its side, got {rows} x {columns} and {mean_vector.size(0)}"
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, tensor: Any) -> Any:
        flat = tensor.reshape(-1, self.mean_vector.size(0)) - self.mean_vector
        return t.mm(flat, self.transformation_matrix).reshape(tensor.shape)
