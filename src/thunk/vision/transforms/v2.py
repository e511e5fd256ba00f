"""`thunk.vision.transforms.v2`: the transforms as functions of whole samples.

A sample is a picture, or any nest of containers and arguments with one in it: the first picture in
it is transformed, and the rest (labels, ids) comes along unchanged. The draws are those of v1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from thunk.base.pytree import tree_flatten, tree_unflatten
from thunk.nn.modules.module import Module
from thunk.tensor.creation import from_numpy
from thunk.types.dtype import dtype as Element
from thunk.types.tensor_base import TensorBase
from thunk.vision import transforms as v1
from thunk.vision.images import is_pil
from thunk.vision.transforms import functional
from thunk.vision.transforms.combine import Lambda, RandomChoice, RandomOrder
from thunk.vision.transforms.convert import ToPILImage, ToTensor
from thunk.vision.transforms.interpolation import InterpolationMode


def is_picture(value: Any) -> bool:
    """Whether `value` is something that transforms work on."""
    return isinstance(value, TensorBase | numpy.ndarray) or is_pil(value)


def on_sample(change: Callable[[Any], Any], inputs: tuple[Any, ...]) -> Any:
    """The sample `inputs` with `change` applied to its first picture."""
    sample = inputs if len(inputs) > 1 else inputs[0]
    leaves, structure = tree_flatten(sample)
    for place, leaf in enumerate(leaves):
        if is_picture(leaf):
            leaves[place] = change(leaf)
            return tree_unflatten(leaves, structure)
    raise TypeError(
        f"expected a sample with a picture (PIL Image, Tensor or ndarray) in it, got {sample!r}"
    )


class _OfSamples(Module):
    """Makes `forward` of a transform of pictures one of samples."""

    def forward(self, *inputs: Any) -> Any:
        return on_sample(super().forward, inputs)


class Compose(Module):
    """One transform after the other."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.transforms = transforms

    def forward(self, *inputs: Any) -> Any:
        several = len(inputs) > 1
        sample: Any = inputs if several else inputs[0]
        for step in self.transforms:
            sample = step(*sample) if several else step(sample)
        return sample

    def __repr__(self) -> str:
        return repr(v1.Compose(self.transforms)).replace("Compose", type(self).__name__, 1)


class Identity(Module):
    """The sample as it is."""

    def forward(self, *inputs: Any) -> Any:
        return inputs if len(inputs) > 1 else inputs[0]


class ToImage(Module):
    """A Pillow image or array as a tensor of its own numbers, channels first."""

    def forward(self, *inputs: Any) -> Any:
        return on_sample(_as_tensor, inputs)


class ToPureTensor(Identity):
    """Tensors of pictures as plain tensors, which they are already."""


class ToDtype(Module):
    """The picture in another dtype, its values scaled to that dtype's range if asked."""

    def __init__(self, dtype: Element, scale: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.scale = scale

    def _changed(self, image: Any) -> Any:
        if self.scale:
            return functional.convert_image_dtype(image, self.dtype)
        return image.to(self.dtype)

    def forward(self, *inputs: Any) -> Any:
        return on_sample(self._changed, inputs)


def _as_tensor(picture: Any) -> Any:
    if isinstance(picture, TensorBase):
        return picture
    if is_pil(picture):
        return functional.pil_to_tensor(picture)
    planes = picture[None] if picture.ndim == 2 else picture.transpose(2, 0, 1)
    return from_numpy(planes.copy())


class Resize(_OfSamples, v1.Resize):
    """A picture in another size."""


class CenterCrop(_OfSamples, v1.CenterCrop):
    """The middle of a picture."""


class Pad(_OfSamples, v1.Pad):
    """A picture with a border."""


class RandomCrop(_OfSamples, v1.RandomCrop):
    """A rectangle at a random place."""


class RandomResizedCrop(_OfSamples, v1.RandomResizedCrop):
    """A rectangle of random area and shape, in a given size."""


class RandomHorizontalFlip(_OfSamples, v1.RandomHorizontalFlip):
    """Left and right exchanged with probability `p`."""


class RandomVerticalFlip(_OfSamples, v1.RandomVerticalFlip):
    """Top and bottom exchanged with probability `p`."""


class RandomRotation(_OfSamples, v1.RandomRotation):
    """A picture turned by a random angle."""


class RandomAffine(_OfSamples, v1.RandomAffine):
    """A picture sheared, turned, scaled and shifted at random."""


class RandomPerspective(_OfSamples, v1.RandomPerspective):
    """A picture seen from a random side with probability `p`."""


class ColorJitter(_OfSamples, v1.ColorJitter):
    """Brightness, contrast, saturation and hue changed at random."""


class Grayscale(_OfSamples, v1.Grayscale):
    """A picture without colours."""


class RandomGrayscale(_OfSamples, v1.RandomGrayscale):
    """A picture without colours, but with all its channels, with probability `p`."""


class GaussianBlur(_OfSamples, v1.GaussianBlur):
    """Blurred by a Gaussian of random width."""


class Normalize(_OfSamples, v1.Normalize):
    """`(tensor - mean) / std`, channel by channel."""


class RandomErasing(_OfSamples, v1.RandomErasing):
    """A random rectangle of a tensor set to a value, or to noise."""


class RandomApply(_OfSamples, v1.RandomApply):
    """All of several transforms, or none of them."""


class RandAugment(_OfSamples, v1.RandAugment):
    """Some random changes of one strength."""


class TrivialAugmentWide(_OfSamples, v1.TrivialAugmentWide):
    """One random change of a random strength."""


__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "GaussianBlur", "Grayscale", "Identity",
    "InterpolationMode", "Lambda", "Normalize", "Pad", "RandAugment", "RandomAffine",
    "RandomApply", "RandomChoice", "RandomCrop", "RandomErasing", "RandomGrayscale",
    "RandomHorizontalFlip", "RandomOrder", "RandomPerspective", "RandomResizedCrop",
    "RandomRotation", "RandomVerticalFlip", "Resize", "ToDtype", "ToImage", "ToPILImage",
    "ToPureTensor", "ToTensor", "TrivialAugmentWide", "functional",
]  # fmt: skip
