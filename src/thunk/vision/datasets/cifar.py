"""Enters: a folder with CIFAR's batches. Leaves: CIFAR10 and CIFAR100.

Invariant: files are verified by their published sums before they are read, and read without
executing what a pickle asks for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy

from thunk.vision.datasets import files, sources
from thunk.vision.datasets.arrays import PicturesInMemory
from thunk.vision.datasets.base import Transform
from thunk.vision.datasets.pickled import read_pickled


class CIFAR10(PicturesInMemory):
    """Photographs of 10 kinds of things: 50,000 of 32 x 32 to train with, 10,000 to test with."""

    base_folder = "cifar-10-batches-py"
    url = sources.CIFAR10_URL
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = sources.CIFAR10_SUM
    train_list = sources.CIFAR10_TRAIN
    test_list = sources.CIFAR10_TEST
    meta: ClassVar[dict[str, str]] = {
        "filename": sources.CIFAR10_META[0],
        "key": "label_names",
        "md5": sources.CIFAR10_META[1],
    }

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
        if not self._check_integrity():
            raise RuntimeError(
                f"{type(self).__name__}: Dataset not found or corrupted in {self._folder}. You can "
                "use download=True to download it"
            )
        self._load()
        names = read_pickled(self._folder / self.meta["filename"])[self.meta["key"]]
        self.classes: list[str] = list(names)
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}

    def _load(self) -> None:
        batches, self.targets = [], []
        for name, _ in self.train_list if self.train else self.test_list:
            entry: dict[str, Any] = read_pickled(self._folder / name)
            batches.append(entry["data"])
            self.targets += entry["labels"] if "labels" in entry else entry["fine_labels"]
        planes = numpy.concatenate(batches).reshape(-1, 3, 32, 32)
        self.data: numpy.ndarray = numpy.ascontiguousarray(planes.transpose(0, 2, 3, 1))

    @property
    def _folder(self) -> Path:
        return Path(self.root) / self.base_folder

    def _check_integrity(self) -> bool:
        wanted = [*self.train_list, *self.test_list, (self.meta["filename"], self.meta["md5"])]
        return all(files.is_intact(self._folder / name, md5) for name, md5 in wanted)

    def download(self) -> None:
        """Fetch and unpack the archive, unless its files are there."""
        if self._check_integrity():
            return
        archive = Path(self.root) / self.filename
        files.download([self.url], archive, self.tgz_md5)
        files.unpack(archive, Path(self.root))

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """Photographs of 100 kinds of things, as many as in CIFAR10."""

    base_folder = "cifar-100-python"
    url = sources.CIFAR100_URL
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = sources.CIFAR100_SUM
    train_list = sources.CIFAR100_TRAIN
    test_list = sources.CIFAR100_TEST
    meta: ClassVar[dict[str, str]] = {
        "filename": sources.CIFAR100_META[0],
        "key": "fine_label_names",
        "md5": sources.CIFAR100_META[1],
    }
