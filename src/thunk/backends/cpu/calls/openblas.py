"""Enters: the installed NumPy and SciPy. Leaves: their OpenBLAS, held to one thread.

OpenBLAS has threads of its own, which go on spinning after each product: beside our pool they make
the next step many times slower. Our pool divides the work instead.
Invariant: a library is held once, and `release` gives back the number of threads it had.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class OpenBlas:
    """A copy of OpenBLAS: `suffix` is 64 where its integers have 64 bits."""

    package: str
    path: str
    library: ctypes.CDLL
    suffix: str

    def threads(self) -> int:
        """How many threads it has."""
        return int(getattr(self.library, f"scipy_openblas_get_num_threads{self.suffix}")())

    def set_threads(self, count: int) -> None:
        """How many threads it is to have."""
        getattr(self.library, f"scipy_openblas_set_num_threads{self.suffix}")(count)


@cache
def find_openblas(package: str) -> OpenBlas | None:
    """The OpenBLAS that a package's own list of files holds."""
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if "openblas" not in file.name or ".so" not in file.name:
            continue
        path = str(Path(str(file.locate())).resolve())
        try:
            library = ctypes.CDLL(path)
        except OSError:
            return None
        for suffix in ("64_", ""):
            if hasattr(library, f"scipy_openblas_set_num_threads{suffix}"):
                return OpenBlas(package, path, library, suffix)
    return None


_held: Final[dict[str, int]] = {}


def hold() -> None:
    """One thread for every OpenBLAS of this process; cheap to repeat."""
    for package in ("numpy", "scipy"):
        if package in _held or package not in sys.modules:
            continue
        found = find_openblas(package)
        _held[package] = found.threads() if found is not None else 0
        if found is not None:
            found.set_threads(1)


def release() -> None:
    """The numbers of threads from before `hold`."""
    while _held:
        package, before = _held.popitem()
        found = find_openblas(package)
        if found is not None:
            found.set_threads(before)
