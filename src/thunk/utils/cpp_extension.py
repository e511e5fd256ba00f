"""`thunk.utils.cpp_extension`: extensions written against PyTorch's C++ interface: none load here.

Invariant: the names can be imported, since packages do so before they choose; use is refused.
"""

from __future__ import annotations

from typing import Any, NoReturn

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
IS_HIP_EXTENSION = False


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"cpp_extension.{name}: expected PyTorch's C++ library, got Thunk, which has none; use the "
        "package's fallback in Python, or thunk.library for operators of your own"
    )


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    _refuse("load")


def load_inline(name: str, cpp_sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    _refuse("load_inline")


def CppExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    _refuse("CppExtension")


def CUDAExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    _refuse("CUDAExtension")


class BuildExtension:
    """Refused."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """The class itself."""
        return cls
