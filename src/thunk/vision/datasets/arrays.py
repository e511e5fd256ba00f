"""Enters: pictures in memory, one array, and their classes. Leaves: samples and whole batches.

Invariant: a batch made in one step holds exactly what its samples would, one by one; where the
transforms do not allow that, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from thunk.dispatch.state import state
from thunk.runtime.tensors import array_from
from thunk.tensor.creation import tensor
from thunk.types.tensor_base import TensorBase
from thunk.vision.datasets.base import VisionDataset
from thunk.vision.images import picture
from thunk.vision.transforms.batched import on_batch


def _array(values: Any) -> Any:
    return array_from(values) if isinstance(values, TensorBase) else values


class PicturesInMemory(VisionDataset):
    """Pictures `data` (count x height x width, or with channels last) of classes `targets`."""

    data: Any
    targets: Any

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        pixels, target = _array(self.data)[index], int(_array(self.targets)[index])
        return self.transformed(picture(numpy.ascontiguousarray(pixels)), target)

    def __len__(self) -> int:
        return len(self.data)

    def __collated__(self, indices: Sequence[int]) -> list[Any] | None:
        """The batch of these samples, if every transform can work on all of them at once."""
        own = type(self).__getitem__ is PicturesInMemory.__getitem__
        pixels = _array(self.data)
        if not own or self.target_transform is not None or not isinstance(pixels, numpy.ndarray):
            return None
        if state.lazy or pixels.dtype != numpy.uint8 or pixels.ndim not in (3, 4):
            return None
        shape = (*pixels.shape[1:3], pixels.shape[3] if pixels.ndim == 4 else 1)
        transform = on_batch(self.transform, shape)
        if transform is None:
            return None
        chosen = numpy.array(indices)
        if chosen.dtype != numpy.int64 or chosen.ndim != 1:
            return None
        batch = pixels[chosen]
        classes = _array(self.targets)
        targets = [int(classes[index]) for index in chosen.tolist()]
        return [transform(batch if batch.ndim == 4 else batch[..., None]), tensor(targets)]
