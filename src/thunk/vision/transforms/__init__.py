"""`thunk.vision.transforms`: changes of pictures, under torchvision's names.

Pictures are Pillow images, tensors of (..., channels, height, width) or arrays of height x width
(x channels). Random transforms draw from the default stream, as torchvision's do.
"""

from thunk.vision.transforms import functional
from thunk.vision.transforms.automatic import RandAugment, TrivialAugmentWide
from thunk.vision.transforms.colour import (
    ColorJitter,
    GaussianBlur,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from thunk.vision.transforms.combine import (
    Compose,
    Lambda,
    RandomApply,
    RandomChoice,
    RandomOrder,
)
from thunk.vision.transforms.convert import (
    ConvertImageDtype,
    LinearTransformation,
    Normalize,
    PILToTensor,
    ToPILImage,
    ToTensor,
)
from thunk.vision.transforms.erasing import RandomErasing
from thunk.vision.transforms.geometry import (
    CenterCrop,
    FiveCrop,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    TenCrop,
)
from thunk.vision.transforms.interpolation import InterpolationMode
from thunk.vision.transforms.warp import RandomAffine, RandomPerspective, RandomRotation

__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "ConvertImageDtype", "FiveCrop", "GaussianBlur",
    "Grayscale", "InterpolationMode", "Lambda", "LinearTransformation", "Normalize", "PILToTensor",
    "Pad", "RandAugment", "RandomAdjustSharpness", "RandomAffine", "RandomApply",
    "RandomAutocontrast", "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing",
    "RandomGrayscale", "RandomHorizontalFlip", "RandomInvert", "RandomOrder", "RandomPerspective",
    "RandomPosterize", "RandomResizedCrop", "RandomRotation", "RandomSolarize",
    "RandomVerticalFlip", "Resize", "TenCrop", "ToPILImage", "ToTensor", "TrivialAugmentWide",
    "functional",
]  # fmt: skip
