"""`thunk.vision.datasets`: datasets of pictures, under torchvision's names."""

from thunk.vision.datasets.base import StandardTransform, VisionDataset
from thunk.vision.datasets.bundled import BundledDigits, bundled_digits
from thunk.vision.datasets.cifar import CIFAR10, CIFAR100
from thunk.vision.datasets.fake import FakeData
from thunk.vision.datasets.folder import DatasetFolder, ImageFolder
from thunk.vision.datasets.mnist import EMNIST, KMNIST, MNIST, FashionMNIST

__all__ = [
    "CIFAR10", "CIFAR100", "EMNIST", "KMNIST", "MNIST", "BundledDigits", "DatasetFolder",
    "FakeData", "FashionMNIST", "ImageFolder", "StandardTransform", "VisionDataset",
    "bundled_digits",
]  # fmt: skip
