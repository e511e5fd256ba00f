"""Enters: the name of a distribution. Leaves: what `importlib.metadata` reports of it.

Invariant: the version says whose interface it is and whose code.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from thunk.compat.versions import VERSION, VISION_VERSION

_VERSIONS = {"torch": VERSION, "torchvision": VISION_VERSION}


class Distribution(importlib.metadata.Distribution):
    """A package that Thunk stands for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        """The one file there is: its metadata."""
        if filename != "METADATA":
            return None
        return (
            f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {_VERSIONS[self._name]}\n"
            "Summary: Thunk, under PyTorch's name\n"
        )

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        """Where a file of the package would lie."""
        return Path(__file__).parent / path


def distributions(name: str | None) -> Iterable[importlib.metadata.Distribution]:
    """The distributions of that name, or all."""

    def found() -> Iterator[importlib.metadata.Distribution]:
        for each in _VERSIONS:
            if name is None or name.lower() == each:
                yield Distribution(each)

    return found()
