"""Enters: the option `blas`. Leaves: Fortran functions of a BLAS, or the reason why there are none.

Invariant: the library that the functions belong to has been told to use one thread; our pool calls
it from several.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
from dataclasses import dataclass
from functools import cache

from thunk.backends.cpu.calls.native import address_of
from thunk.backends.cpu.calls.openblas import find_openblas, hold
from thunk.base.config import config


@dataclass(frozen=True, slots=True)
class Blas:
    """Whose matrix products are used where oneDNN is not, and where the functions start."""

    provider: str
    single: int = 0
    double: int = 0
    reason: str = ""

    @property
    def found(self) -> bool:
        return bool(self.single)

    def gemm(self, size: int) -> int:
        """The function for elements of `size` bytes."""
        return self.single if size == 4 else self.double

    def __str__(self) -> str:
        return f"BLAS of {self.provider}" if self.found else f"own kernels: {self.reason}"


def blas() -> Blas:
    """The BLAS that is used."""
    return _found(config.blas)


@cache
def _found(wanted: str) -> Blas:
    if wanted == "own":
        return Blas("own", reason="the option THUNK_BLAS is own")
    reasons = []
    # NumPy's is loaded in any case; to import SciPy takes a tenth of a second.
    for provider, find in (("numpy", _of_numpy), ("scipy", _of_scipy)):
        if wanted in (provider, "auto"):
            found = find()
            if found.found:
                hold()
                return found
            reasons.append(found.reason)
    return Blas("own", reason="; ".join(reasons))


def _of_scipy() -> Blas:
    """SciPy publishes its BLAS as pointers for compiled extensions."""
    if importlib.util.find_spec("scipy") is None:
        return Blas("scipy", reason="SciPy is not installed")
    table = importlib.import_module("scipy.linalg.cython_blas").__pyx_capi__
    return Blas("scipy", _pointer(table["sgemm"]), _pointer(table["dgemm"]))


def _pointer(capsule: object) -> int:
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, name(capsule)))


def _of_numpy() -> Blas:
    """NumPy's wheels bring OpenBLAS along."""
    found = find_openblas("numpy")
    if found is None:
        return Blas("numpy", reason="NumPy brings no OpenBLAS along")
    try:
        single, double = (
            address_of(getattr(found.library, f"scipy_{name}_{found.suffix}"))
            for name in ("sgemm", "dgemm")
        )
    except AttributeError as error:
        return Blas("numpy", reason=str(error))
    return Blas("numpy", single, double)
