"""Transforms along several dimensions; those of two are the same with other defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.fft.arguments import (
    as_signal,
    expect_axis,
    expect_points,
    many_dims,
    resized,
    scale_of,
)
from thunk.ops.registry import t


def _complex(name: str, forward: bool) -> Callable[..., Any]:
    def transform(self: Any, s: Any, dim: Any, norm: str | None) -> Any:
        dims, sizes = many_dims(self, s, dim)
        scale = scale_of(norm, forward)
        signal = resized(as_signal(self), dims, sizes)
        return t._fft_c2c(signal, dims, scale, forward)

    return transform


def _half_sizes(self: Any, s: Any, dims: list[int], sizes: list[int]) -> tuple[list[int], int]:
    """The stored sizes of a spectrum whose last dimension is one-sided, and the whole last one."""
    given = s is not None and s[-1] != -1
    last = sizes[-1] if given else 2 * (self._spec.shape[dims[-1]] - 1)
    expect_points(last)
    return [*sizes[:-1], last // 2 + 1], last


def _to_real(name: str, forward: bool) -> Callable[..., Any]:
    def transform(self: Any, s: Any, dim: Any, norm: str | None) -> Any:
        dims, sizes = many_dims(self, s, dim)
        expect_axis(dims, name)
        scale = scale_of(norm, forward)
        stored, last = _half_sizes(self, s, dims, sizes)
        signal = resized(as_signal(self), dims, stored)
        if forward:
            if len(dims) > 1:
                signal = t._fft_c2c(signal, dims[:-1], scale, True)
            return t._fft_c2r(t.conj_physical(signal), dims[-1:], scale, last)
        return t._fft_c2r(signal, dims, scale, last)

    return transform


def _from_real(name: str, forward: bool) -> Callable[..., Any]:
    def transform(self: Any, s: Any, dim: Any, norm: str | None) -> Any:
        if self._spec.dtype.is_complex:
            raise Mismatch(
                f"{name} expects a real-valued input tensor, but got {self._spec.dtype!r}"
            )
        dims, sizes = many_dims(self, s, dim)
        expect_axis(dims, name)
        scale = scale_of(norm, forward)
        signal = resized(as_signal(self, False), dims, sizes)
        if forward:
            return t._fft_r2c(signal, dims, scale, True)
        found = t.conj_physical(t._fft_r2c(signal, dims[-1:], scale, True))
        return t._fft_c2c(found, dims[:-1], scale, False) if len(dims) > 1 else found

    return transform


_KINDS = {
    "fft": (_complex, True, "The spectrum"),
    "ifft": (_complex, False, "The signal of a spectrum"),
    "rfft": (_from_real, True, "The first half of a real signal's spectrum"),
    "irfft": (_to_real, False, "The real signal of the first half of its spectrum"),
    "hfft": (_to_real, True, "The real spectrum of the first half of a Hermitian signal"),
    "ihfft": (_from_real, False, "The first half of the Hermitian signal of a real spectrum"),
}

for _kind, (_make, _forward, _what) in _KINDS.items():
    for _suffix, _dims, _where in (
        ("n", "int[1]? dim=None", "several dimensions"),
        ("2", "int[1] dim=[-2, -1]", "two dimensions"),
    ):
        declare(
            f"fft_{_kind}{_suffix}(Tensor self, SymInt[1]? s=None, {_dims}, str? norm=None)"
            " -> Tensor",
            doc=f"{_what} along {_where}.",
            decompose=_make(f"{_kind}n", _forward),
            variants="function out",
            module="fft",
        )
