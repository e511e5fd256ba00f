"""Enters: a folder and transforms. Leaves: `VisionDataset`, what all datasets of pictures share.

Invariant: a sample is (picture, target); `transforms` sees both, `transform` and `target_transform`
one each, and only one of the two ways may be used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thunk.data.dataset import Dataset

Transform = Callable[[Any], Any] | None


class StandardTransform:
    """A transform for the picture and one for the target as one of both."""

    def __init__(self, transform: Transform = None, target_transform: Transform = None) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for label, each in (
            ("Transform: ", self.transform),
            ("Target transform: ", self.target_transform),
        ):
            if each is not None:
                text = repr(each).replace("\n", "\n" + " " * len(label))
                lines.append(label + text)
        return "\n".join(lines)


class VisionDataset(Dataset[Any]):
    """Base of datasets that live in a folder `root` and yield (picture, target)."""

    def __init__(
        self,
        root: str | Path | None = None,
        transforms: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        transform: Transform = None,
        target_transform: Transform = None,
    ) -> None:
        self.root: Any = os.path.expanduser(root) if isinstance(root, str) else root
        single = transform is not None or target_transform is not None
        if transforms is not None and single:
            raise ValueError(
                f"{type(self).__name__}: Only transforms or transform/target_transform can be "
                "passed as argument, got both"
            )
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = StandardTransform(transform, target_transform) if single else transforms

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}: expected a dataset that defines __len__")

    def transformed(self, picture: Any, target: Any) -> tuple[Any, Any]:
        """A sample after the transforms of this dataset."""
        if self.transform is not None:
            picture = self.transform(picture)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return picture, target

    def extra_repr(self) -> str:
        """More lines for the printed form."""
        return ""

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if self.transforms is not None:
            body += repr(self.transforms).splitlines()
        return "\n".join([f"Dataset {type(self).__name__}", *(f"    {line}" for line in body)])
