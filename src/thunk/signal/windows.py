"""Enters: a number of samples and a shape. Leaves: a window, symmetric unless `sym=False`.

Invariant: a periodic window is a symmetric one of one more sample without its last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from thunk.ops.registry import t
from thunk.types.dtype import float32, float64
from thunk.types.layout import strided
from thunk.types.promotion import get_default_dtype

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


def _checked(name: str, M: Any, dtype: Any, layout: Any) -> Any:
    if M < 0:
        raise ValueError(f"{name}: expected M >= 0 (requires non-negative window length), got {M}")
    if layout is not None and layout is not strided:
        raise ValueError(f"{name}: expected layout strided, got {layout!r}")
    element = dtype or get_default_dtype()
    if element not in (float32, float64):
        raise ValueError(f"{name}: expected float32 or float64, got {element!r}")
    return element


def _span(M: int, sym: bool) -> int:
    """The distance from the first sample to the last; a periodic window has one more."""
    return M if not sym and M > 1 else M - 1


class _Window:
    """Places of the samples in double width, and how the result is given back."""

    def __init__(
        self, name: str, M: int, dtype: Any, layout: Any, device: Any, requires_grad: bool
    ) -> None:
        self.length = M
        self.element = _checked(name, M, dtype, layout)
        self.device = device
        self.requires_grad = requires_grad

    def line(self, start: float, end: float) -> Any:
        """Even steps from `start` to `end`."""
        return t.linspace(start, end, self.length, dtype=self.element, device=self.device)

    def trivial(self) -> Any:
        """The window of no sample or one."""
        return self.given(t.ones((self.length,), dtype=self.element, device=self.device))

    def given(self, values: Any) -> Any:
        return values.requires_grad_() if self.requires_grad else values


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None,
    layout: Any = strided, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """exp(-|n - center| / tau)."""
    window = _Window("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"exponential: expected tau > 0, got {tau}")
    if sym and center is not None:
        raise ValueError("exponential: expected no center for a symmetric window, got one")
    if M == 0:
        return window.trivial()
    middle = _span(M, sym) / 2.0 if center is None else center
    return window.given(t.exp(-t.abs(window.line(-middle, M - 1 - middle)) / tau))


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """sin(pi (n + 1/2) / M)."""
    window = _Window("cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return window.trivial()
    step = math.pi / (_span(M, sym) + 1)
    return window.given(t.sin(window.line(0.5 * step, (M - 0.5) * step)))


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = strided,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """exp(-(n / std)**2 / 2), centred."""
    window = _Window("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"gaussian: expected std > 0, got {std}")
    if M == 0:
        return window.trivial()
    start = -_span(M, sym) / 2.0
    scale = 1 / (std * math.sqrt(2))
    places = window.line(start * scale, (start + (M - 1)) * scale)
    return window.given(t.exp(-(places * places)))


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = strided,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """i0(beta sqrt(1 - x**2)) / i0(beta), x from -1 to 1."""
    window = _Window("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"kaiser: expected beta >= 0, got {beta}")
    made = t.kaiser_window(M, not sym, float(beta), dtype=window.element, device=device)
    return window.given(made)


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = strided,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """The sum of (-1)**i a[i] cos(2 pi i n / (M - 1))."""
    window = _Window("general_cosine", M, dtype, layout, device, requires_grad)
    if not isinstance(a, Iterable):
        raise TypeError(f"general_cosine: expected a list of coefficients, got {type(a).__name__}")
    factors = list(a)
    if not factors:
        raise ValueError("general_cosine: expected coefficients, got none: they cannot be empty")
    if M <= 1:
        return window.trivial()
    places = window.line(0, 2 * math.pi * (M - 1) / ((M - 1) if sym else M))
    total = t.full((M,), factors[0], dtype=window.element, device=device)
    for order, factor in enumerate(factors[1:], 1):
        total = total + (-1) ** order * factor * t.cos(places * order)
    return window.given(total)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = strided,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """alpha - (1 - alpha) cos(2 pi n / (M - 1))."""
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Hamming's window."""
    return general_hamming(
        M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Hann's window."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Blackman's window."""
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A triangle that starts and ends at zero."""
    window = _Window("bartlett", M, dtype, layout, device, requires_grad)
    made = t.bartlett_window(M, not sym, dtype=window.element, device=device)
    return window.given(made)


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Nuttall's minimum 4-term window."""
    return general_cosine(
        M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout,
        device=device, requires_grad=requires_grad,
    )  # fmt: skip
