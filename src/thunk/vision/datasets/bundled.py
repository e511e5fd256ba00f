"""Enters: nothing. Leaves: the 10,000 digits of MNIST's test set, which come with the package.

Invariant: both parts together are the whole set, and a picture never changes its part. Credit:
Yann LeCun, Corinna Cortes and Christopher J. C. Burges; CC BY-SA 3.0, see data/mnist/LICENSE.
"""

from __future__ import annotations

from pathlib import Path

from thunk.ops.registry import t
from thunk.vision.datasets.arrays import PicturesInMemory
from thunk.vision.datasets.base import Transform
from thunk.vision.datasets.mnist import MNIST, read_image_file, read_label_file

FOLDER = Path(__file__).resolve().parent.parent / "data" / "mnist"
# The set's first half is easier than its second: every fifth picture tests, wherever it stands.
HELD_OUT_EVERY = 5


class BundledDigits(PicturesInMemory):
    """8,000 digits to train with and 2,000 others to test with; all 10,000 with train=None."""

    classes = MNIST.classes

    def __init__(
        self,
        train: bool | None = True,
        transform: Transform = None,
        target_transform: Transform = None,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.train = train
        data = read_image_file(FOLDER / "t10k-images-idx3-ubyte.gz")
        targets = read_label_file(FOLDER / "t10k-labels-idx1-ubyte.gz")
        if train is not None:
            held_out = t.arange(len(targets)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
            part = ~held_out if train else held_out
            data, targets = data[part], targets[part]
        self.data, self.targets = data, targets

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class."""
        return {name: number for number, name in enumerate(self.classes)}

    def extra_repr(self) -> str:
        part = {True: "Train", False: "Test", None: "All"}[self.train]
        return f"Split: {part}"


def bundled_digits(
    train: bool | None = True, transform: Transform = None, target_transform: Transform = None
) -> BundledDigits:
    """The digits that come with the package: 8,000 to train with, 2,000 to test with."""
    return BundledDigits(train, transform, target_transform)
