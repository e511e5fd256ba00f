"""Enters: a folder with IDX files. Leaves: MNIST and the datasets in its form.

Invariant: the folder's layout is torchvision's, `ROOT/CLASS/raw/...-ubyte`; the files may also
still be gzipped.
"""

from __future__ import annotations

import shutil
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from thunk.tensor.creation import from_numpy
from thunk.types.dtype import int64
from thunk.vision.datasets import sources
from thunk.vision.datasets.arrays import PicturesInMemory
from thunk.vision.datasets.base import Transform
from thunk.vision.datasets.files import download, unpack, unzip
from thunk.vision.datasets.idx import read_idx


def read_image_file(path: str | Path) -> Any:
    """The pictures of an IDX file as a tensor of bytes."""
    pixels = read_idx(path)
    if pixels.dtype != "uint8" or pixels.ndim != 3:
        raise ValueError(f"read_image_file: expected pictures in {path}, got {pixels.shape}")
    return from_numpy(pixels)


def read_label_file(path: str | Path) -> Any:
    """The classes of an IDX file as a tensor of int64."""
    labels = read_idx(path)
    if labels.dtype != "uint8" or labels.ndim != 1:
        raise ValueError(f"read_label_file: expected labels in {path}, got {labels.shape}")
    return from_numpy(labels).to(int64)


class MNIST(PicturesInMemory):
    """Handwritten digits: 60,000 pictures of 28 x 28 to train with, 10,000 to test with."""

    mirrors: ClassVar[Sequence[str]] = sources.MNIST_MIRRORS
    resources = sources.idx_files(sources.MNIST_SUMS)
    classes: ClassVar[list[str]] = [
        "0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six",
        "7 - seven", "8 - eight", "9 - nine",
    ]  # fmt: skip
    _also = (
        "; the 10,000 pictures of MNIST's test set come with Thunk: "
        "thunk.vision.datasets.bundled_digits()"
    )

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        if not self._check_exists():
            names = ", ".join(self._names())
            raise RuntimeError(
                f"{type(self).__name__}: Dataset not found, expected {names} in {self.raw_folder}. "
                f"You can use download=True to download it{self._also}"
            )
        images, labels = (self._found(name) for name in self._names())
        self.data, self.targets = read_image_file(images), read_label_file(labels)

    def _names(self) -> tuple[str, str]:
        prefix = "train" if self.train else "t10k"
        return f"{prefix}-images-idx3-ubyte", f"{prefix}-labels-idx1-ubyte"

    def _found(self, name: str) -> Path:
        plain = Path(self.raw_folder) / name
        return plain if plain.is_file() else plain.with_name(f"{name}.gz")

    def _check_exists(self) -> bool:
        return all(self._found(name).is_file() for name in self._names())

    @property
    def raw_folder(self) -> str:
        """The folder of the IDX files."""
        return str(Path(self.root) / type(self).__name__ / "raw")

    @property
    def processed_folder(self) -> str:
        """Where old versions of torchvision kept converted files; not read."""
        return str(Path(self.root) / type(self).__name__ / "processed")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class."""
        return {name: number for number, name in enumerate(self.classes)}

    @property
    def train_data(self) -> Any:
        """`data` under its former name."""
        return self.data

    @property
    def train_labels(self) -> Any:
        """`targets` under its former name."""
        return self.targets

    test_data, test_labels = train_data, train_labels

    def download(self) -> None:
        """Fetch and unpack the four files, unless they are there."""
        folder = Path(self.raw_folder)
        for name, md5 in self.resources:
            packed = folder / name
            target = packed.with_suffix("")
            if not target.is_file():
                download([mirror + name for mirror in self.mirrors], packed, md5)
                unzip(packed, target)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Pictures of clothes in MNIST's form."""

    mirrors = sources.FASHION_MIRRORS
    resources = sources.idx_files(sources.FASHION_SUMS)
    classes: ClassVar[list[str]] = [
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
        "Ankle boot",
    ]  # fmt: skip
    _also = ""


class KMNIST(MNIST):
    """Kuzushiji, cursive Japanese characters, in MNIST's form."""

    mirrors = sources.KUZUSHIJI_MIRRORS
    resources = sources.idx_files(sources.KUZUSHIJI_SUMS)
    classes: ClassVar[list[str]] = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]
    _also = ""


_LIKE_LOWERCASE = set("CIJKLMOPSUVWXYZ".lower())
_ALL_CHARACTERS = set(string.digits + string.ascii_letters)
_MERGED = sorted(_ALL_CHARACTERS - _LIKE_LOWERCASE)


class EMNIST(MNIST):
    """Handwritten digits and letters in six splits."""

    classes_split_dict: ClassVar[dict[str, list[str]]] = {
        "byclass": sorted(_ALL_CHARACTERS),
        "bymerge": _MERGED,
        "balanced": _MERGED,
        "letters": ["N/A", *string.ascii_lowercase],
        "digits": list(string.digits),
        "mnist": list(string.digits),
    }
    splits = tuple(classes_split_dict)
    _also = ""

    def __init__(self, root: str | Path, split: str, **kwargs: Any) -> None:
        if split not in self.splits:
            raise ValueError(f"EMNIST: expected a split of {self.splits}, got {split!r}")
        self.split = split
        super().__init__(root, **kwargs)
        self.classes = self.classes_split_dict[split]  # type: ignore[misc]  # by split, not class

    def _names(self) -> tuple[str, str]:
        prefix = f"emnist-{self.split}-{'train' if self.train else 'test'}"
        return f"{prefix}-images-idx3-ubyte", f"{prefix}-labels-idx1-ubyte"

    def download(self) -> None:
        """Fetch the archive of all splits and unpack its files, unless they are there."""
        if self._check_exists():
            return
        folder = Path(self.raw_folder)
        archive = folder / "gzip.zip"
        download([sources.EMNIST_URL], archive, sources.EMNIST_SUM)
        unpack(archive, folder)
        for packed in sorted((folder / "gzip").glob("*.gz")):
            unzip(packed, folder / packed.stem)
        shutil.rmtree(folder / "gzip")
