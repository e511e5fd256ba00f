"""Enters: the installed package. Leaves: the loaded library, or the reason why there is none.

Invariant: nothing is searched for by path: the package's own list of files says where the library
lies. The answer is found once and changes only with the option `onednn`.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thunk.base.config import config

PACKAGE: Final = "onednn-cpu-gomp"
LIBRARY: Final = "libdnnl.so.3"
OPENMP: Final = "libgomp.so.1"
OLDEST: Final = (3, 2)
NEWER: Final = (4, 0)
OPENMP_RUNTIME: Final = 2


@dataclass(frozen=True, slots=True)
class Status:
    """Whether oneDNN is at hand; `reason` says why not."""

    found: bool
    version: str = ""
    path: str = ""
    reason: str = ""

    def __str__(self) -> str:
        if self.found:
            return f"oneDNN {self.version} ({self.path})"
        return f"oneDNN is not used: {self.reason}"


class _Absent(Exception):
    """Why the library cannot be used."""


class _Version(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("patch", ctypes.c_int),
        ("hash", ctypes.c_char_p),
        ("cpu_runtime", ctypes.c_uint),
        ("gpu_runtime", ctypes.c_uint),
    ]


def library_path() -> Path:
    """Where the package put the library."""
    try:
        package = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise _Absent(f"the package {PACKAGE} is not installed") from None
    for file in package.files or ():
        if file.name == LIBRARY:
            path = Path(str(package.locate_file(file))).resolve()
            if path.exists():
                return path
            raise _Absent(f"{PACKAGE} lists {path}, which does not exist; install it again")
    raise _Absent(f"{PACKAGE} {package.version} holds no {LIBRARY}")


def _loaded(name: str, hint: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise _Absent(f"{name} cannot be loaded ({error}); {hint}") from None


def _version_of(library: ctypes.CDLL) -> str:
    library.dnnl_version.restype = ctypes.POINTER(_Version)
    version = library.dnnl_version().contents
    text = f"{version.major}.{version.minor}.{version.patch}"
    if not OLDEST <= (version.major, version.minor) < NEWER:
        oldest = ".".join(map(str, OLDEST))
        raise _Absent(f"expected version {oldest} or a later one of {OLDEST[0]}.x, got {text}")
    if version.cpu_runtime != OPENMP_RUNTIME:
        raise _Absent(f"expected a build for OpenMP, got CPU runtime {version.cpu_runtime}")
    return text


def _find() -> tuple[Status, ctypes.CDLL | None]:
    if not config.onednn:
        return Status(False, reason=f"the option {type(config).onednn.variable} is off"), None
    if not config.openmp:
        return Status(False, reason=f"the option {type(config).openmp.variable} is off"), None
    try:
        path = library_path()
        _loaded(OPENMP, "install the system's package of the GNU OpenMP runtime (libgomp1)")
        library = _loaded(str(path), f"install {PACKAGE} again")
        return Status(True, _version_of(library), str(path)), library
    except _Absent as absent:
        return Status(False, reason=str(absent)), None


_answers: dict[bool, tuple[Status, ctypes.CDLL | None]] = {}


def _answer() -> tuple[Status, ctypes.CDLL | None]:
    found = _answers.get(config.onednn)
    if found is None:
        found = _answers[config.onednn] = _find()
    return found


def status() -> Status:
    """Whether oneDNN is used, which version, and if not, why."""
    return _answer()[0]


def library() -> ctypes.CDLL:
    """The loaded library; raises with the reason if there is none."""
    found, loaded = _answer()
    if loaded is None:
        raise RuntimeError(f"oneDNN: expected the library, got none: {found.reason}")
    return loaded
