"""Transforms along one dimension."""

from __future__ import annotations

from typing import Any

from thunk.ops.declare import composite
from thunk.ops.fft.arguments import (
    as_signal,
    expect_points,
    expect_real,
    one_dim,
    resized,
    scale_of,
)
from thunk.ops.registry import t

_TAIL = "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"
_FACTS = {"variants": "function out", "module": "fft"}


def _prepared(self: Any, n: Any, dim: int) -> tuple[Any, int]:
    place = one_dim(self, dim)
    return resized(self, [place], [self._spec.shape[place] if n is None else n]), place


def _complex(self: Any, n: Any, dim: int, norm: str | None, forward: bool) -> Any:
    scale = scale_of(norm, forward)
    signal, place = _prepared(as_signal(self, self._spec.dtype.is_complex), n, dim)
    if signal._spec.dtype.is_complex:
        return t._fft_c2c(signal, [place], scale, forward)
    found = t._fft_r2c(signal, [place], scale, False)
    return found if forward else t.conj_physical(found)


def _to_real(self: Any, n: Any, dim: int, norm: str | None, forward: bool) -> Any:
    scale = scale_of(norm, forward)
    signal = as_signal(self)
    place = one_dim(self, dim)
    size = 2 * (self._spec.shape[place] - 1) if n is None else n
    expect_points(size)
    signal = resized(signal, [place], [size // 2 + 1])
    # Turned forward, a spectrum is the conjugate of one turned back.
    signal = t.conj_physical(signal) if forward else signal
    return t._fft_c2r(signal, [place], scale, size)


def _from_real(self: Any, n: Any, dim: int, norm: str | None, forward: bool, name: str) -> Any:
    expect_real(self, name)
    scale = scale_of(norm, forward)
    signal, place = _prepared(as_signal(self, False), n, dim)
    found = t._fft_r2c(signal, [place], scale, True)
    return found if forward else t.conj_physical(found)


@composite(f"fft_fft{_TAIL}", **_FACTS)
def fft_fft(self: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Any:
    """The spectrum along a dimension."""
    return _complex(self, n, dim, norm, True)


@composite(f"fft_ifft{_TAIL}", **_FACTS)
def fft_ifft(self: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Any:
    """The signal of a spectrum along a dimension."""
    return _complex(self, n, dim, norm, False)


@composite(f"fft_rfft{_TAIL}", **_FACTS)
def fft_rfft(self: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Any:
    """The first half of a real signal's spectrum along a dimension."""
    return _from_real(self, n, dim, norm, True, "rfft")


@composite(f"fft_irfft{_TAIL}", **_FACTS)
def fft_irfft(self: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Any:
    """The real signal of the first half of its spectrum along a dimension."""
    return _to_real(self, n, dim, norm, False)


@composite(f"fft_hfft{_TAIL}", **_FACTS)
def fft_hfft(self: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Any:
    """The real spectrum of the first half of a Hermitian signal along a dimension."""
    return _to_real(self, n, dim, norm, True)


@composite(f"fft_ihfft{_TAIL}", **_FACTS)
def fft_ihfft(self: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Any:
    """The first half of the Hermitian signal of a real spectrum along a dimension."""
    return _from_real(self, n, dim, norm, False, "ihfft")
