"""Window functions of signal processing; `thunk.signal.windows` has the newer family."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.creation.factory import CONSTANT, FACTORY, factory
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.types.promotion import get_default_dtype
from thunk.types.spec import TensorSpec

_HEAD = "int window_length, bool periodic"


def _window(window_length: int, periodic: bool, *rest: Any) -> TensorSpec:
    dtype, layout, device, pin_memory = rest[-4:]
    element = dtype or get_default_dtype()
    if not element.is_floating_point:
        raise expected("a floating point dtype", repr(element))
    if window_length < 0:
        raise expected("a window_length that is not negative", window_length)
    return factory((window_length,), element, layout, device, pin_memory)


declare(
    f"hamming_window.periodic_alpha_beta({_HEAD}, float alpha, float beta, *, {FACTORY}) -> Tensor",
    doc="alpha - beta cos(2 pi n / N).",
    spec=_window,
    vjp=CONSTANT,
    variants="function",
)
declare(
    f"bartlett_window.periodic({_HEAD}, *, {FACTORY}) -> Tensor",
    doc="A triangle that starts and ends at zero.",
    spec=_window,
    vjp=CONSTANT,
    variants="function",
)
declare(
    f"blackman_window.periodic({_HEAD}, *, {FACTORY}) -> Tensor",
    doc="0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).",
    spec=_window,
    vjp=CONSTANT,
    variants="function",
)
declare(
    f"kaiser_window.beta({_HEAD}, float beta, *, {FACTORY}) -> Tensor",
    doc="Kaiser's window of shape `beta`.",
    spec=_window,
    vjp=CONSTANT,
    variants="function",
)


@composite(f"hamming_window(int window_length, *, {FACTORY}) -> Tensor", variants="function")
def hamming_window(window_length: int, **options: Any) -> Any:
    """Hamming's window, periodic."""
    return t.hamming_window(window_length, True, 0.54, 0.46, **options)


@composite(f"hamming_window.periodic({_HEAD}, *, {FACTORY}) -> Tensor", variants="function")
def hamming_window_periodic(window_length: int, periodic: bool, **options: Any) -> Any:
    """Hamming's window."""
    return t.hamming_window(window_length, periodic, 0.54, 0.46, **options)


@composite(
    f"hamming_window.periodic_alpha({_HEAD}, float alpha, *, {FACTORY}) -> Tensor",
    variants="function",
)
def hamming_window_alpha(window_length: int, periodic: bool, alpha: float, **options: Any) -> Any:
    """Hamming's window with another constant term."""
    return t.hamming_window(window_length, periodic, alpha, 0.46, **options)


@composite(f"hann_window(int window_length, *, {FACTORY}) -> Tensor", variants="function")
def hann_window(window_length: int, **options: Any) -> Any:
    """Hann's window, periodic."""
    return t.hamming_window(window_length, True, 0.5, 0.5, **options)


@composite(f"hann_window.periodic({_HEAD}, *, {FACTORY}) -> Tensor", variants="function")
def hann_window_periodic(window_length: int, periodic: bool, **options: Any) -> Any:
    """Hann's window."""
    return t.hamming_window(window_length, periodic, 0.5, 0.5, **options)


@composite(f"bartlett_window(int window_length, *, {FACTORY}) -> Tensor", variants="function")
def bartlett_window(window_length: int, **options: Any) -> Any:
    """A triangle, periodic."""
    return t.bartlett_window(window_length, True, **options)


@composite(f"blackman_window(int window_length, *, {FACTORY}) -> Tensor", variants="function")
def blackman_window(window_length: int, **options: Any) -> Any:
    """Blackman's window, periodic."""
    return t.blackman_window(window_length, True, **options)


@composite(f"kaiser_window(int window_length, *, {FACTORY}) -> Tensor", variants="function")
def kaiser_window(window_length: int, **options: Any) -> Any:
    """Kaiser's window of shape 12, periodic."""
    return t.kaiser_window(window_length, True, 12.0, **options)


@composite(f"kaiser_window.periodic({_HEAD}, *, {FACTORY}) -> Tensor", variants="function")
def kaiser_window_periodic(window_length: int, periodic: bool, **options: Any) -> Any:
    """Kaiser's window of shape 12."""
    return t.kaiser_window(window_length, periodic, 12.0, **options)
