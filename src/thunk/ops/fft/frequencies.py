"""The frequencies that a spectrum's elements stand for, and putting zero in the middle."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dims
from thunk.types.promotion import get_default_dtype

_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_FACTS = {"variants": "function out", "module": "fft"}


def _element(name: str, dtype: Any) -> Any:
    found = get_default_dtype() if dtype is None else dtype
    if not found.is_inexact:
        raise Mismatch(f"{name} requires a floating point or complex dtype, got {found!r}")
    return found


@composite(f"fft_fftfreq(int n, float d=1.0, *, {_FACTORY}) -> Tensor", **_FACTS)
def fft_fftfreq(
    n: int, d: float = 1.0, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: Any = None,
) -> Any:  # fmt: skip
    """The frequencies of a spectrum of `n` elements, the negative ones last."""
    element = _element("fftfreq", dtype)
    positive = t.arange(0, (n + 1) // 2, dtype=element, device=device)
    negative = t.arange(-(n // 2), 0, dtype=element, device=device)
    return t.cat([positive, negative]) * (1.0 / (n * d) if n else 1.0)


@composite(f"fft_rfftfreq(int n, float d=1.0, *, {_FACTORY}) -> Tensor", **_FACTS)
def fft_rfftfreq(
    n: int, d: float = 1.0, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: Any = None,
) -> Any:  # fmt: skip
    """The frequencies of the first half of a spectrum of `n` elements."""
    element = _element("rfftfreq", dtype)
    return t.arange(n // 2 + 1, dtype=element, device=device) * (1.0 / (n * d) if n else 1.0)


def _shifted(self: Any, dim: Any, extra: int) -> Any:
    shape = self._spec.shape
    dims = list(range(len(shape))) if dim is None else list(wrap_dims(dim, len(shape)))
    return t.roll(self, [(shape[each] + extra) // 2 for each in dims], dims)


@composite(
    "fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", variants="function", module="fft"
)
def fft_fftshift(self: Any, dim: Any = None) -> Any:
    """The zero frequency moved from the start to the middle."""
    return _shifted(self, dim, 0)


@composite(
    "fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", variants="function", module="fft"
)
def fft_ifftshift(self: Any, dim: Any = None) -> Any:
    """The zero frequency moved from the middle to the start."""
    return _shifted(self, dim, 1)
