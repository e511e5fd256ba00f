"""Enters: a folder with one folder a class. Leaves: datasets of the files in them.

Invariant: classes, and the files of a class, are in the order of their names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thunk.vision.datasets.base import Transform, VisionDataset
from thunk.vision.images import load_picture

IMG_EXTENSIONS = (
    ".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp",
)  # fmt: skip

default_loader = load_picture


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether a file's name ends as one of `extensions` does, whatever the case."""
    return filename.lower().endswith(extensions)


def is_image_file(filename: str) -> bool:
    """Whether a file's name is one of a picture."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: str | Path) -> tuple[list[str], dict[str, int]]:
    """The folders in `directory`, and the number of each."""
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(
            f"find_classes: Couldn't find any class folder in {directory}; expected one a class"
        )
    return classes, {name: number for number, name in enumerate(classes)}


def _files_of(folder: Path) -> list[str]:
    return [
        os.path.join(root, name)
        for root, _, names in sorted(os.walk(folder, followlinks=True))
        for name in sorted(names)
    ]


def make_dataset(
    directory: str | Path,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """Every file below `directory` with the number of its class."""
    if (extensions is None) == (is_valid_file is None):
        raise ValueError(
            "make_dataset: Both extensions and is_valid_file cannot be None or not None at the "
            "same time; pass one of them"
        )
    numbers = find_classes(directory)[1] if class_to_idx is None else class_to_idx
    if not numbers:
        raise ValueError("make_dataset: expected at least one class in class_to_idx, got none")
    samples: list[tuple[str, int]] = []
    empty = []
    for name in sorted(numbers):
        found = [
            path
            for path in _files_of(Path(os.path.expanduser(directory)) / name)
            if (is_valid_file(path) if is_valid_file else _allowed(path, extensions))
        ]
        samples += [(path, numbers[name]) for path in found]
        if not found:
            empty.append(name)
    if empty and not allow_empty:
        hint = "" if extensions is None else f"; supported extensions are: {extensions}"
        raise FileNotFoundError(
            f"make_dataset: Found no valid file for the classes {', '.join(empty)}{hint}"
        )
    return samples


def _allowed(path: str, extensions: str | tuple[str, ...] | None) -> bool:
    return extensions is not None and has_file_allowed_extension(path, extensions)


class DatasetFolder(VisionDataset):
    """Files in one folder a class, read by `loader`."""

    def __init__(
        self,
        root: str | Path,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Transform = None,
        target_transform: Transform = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self.extensions = extensions
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(
            self.root, self.class_to_idx, extensions, is_valid_file, allow_empty
        )
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(
        directory: str | Path,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """Every file with the number of its class; subclasses may choose others."""
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        """The classes and their numbers; subclasses may choose others."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self.transformed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Pictures in one folder a class: `root/dog/xxy.png`, `root/cat/123.png`."""

    def __init__(
        self,
        root: str | Path,
        transform: Transform = None,
        target_transform: Transform = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(
            root,
            loader,
            IMG_EXTENSIONS if is_valid_file is None else None,
            transform,
            target_transform,
            is_valid_file,
            allow_empty,
        )
        self.imgs = self.samples
