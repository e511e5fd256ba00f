"""Enters: sizes. Leaves: random pictures with random classes, for trying programs out.

Invariant: sample `i` depends on `i` and `random_offset` alone; the default stream is left as it is.
"""

from __future__ import annotations

from typing import Any

from thunk.ops.registry import t
from thunk.tensor.generator import Generator
from thunk.vision.datasets.base import Transform, VisionDataset
from thunk.vision.transforms.functional import to_picture


class FakeData(VisionDataset):
    """`size` random pictures of `num_classes` classes."""

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Transform = None,
        target_transform: Transform = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if index >= len(self):
            raise IndexError(
                f"{type(self).__name__} index out of range: expected below {self.size}, got {index}"
            )
        generator = Generator().manual_seed(index + self.random_offset)
        pixels = t.randn(self.image_size, generator=generator)
        target = int(t.randint(0, self.num_classes, (1,), generator=generator).item())
        return self.transformed(to_picture(pixels), target)

    def __len__(self) -> int:
        return self.size
