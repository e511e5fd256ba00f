"""Spectra of overlapping windows of a signal, and the signal they come from."""

from __future__ import annotations

import warnings
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite
from thunk.ops.fft.transforms import Scale
from thunk.ops.registry import t


def _check_window(window: Any, win_length: int) -> None:
    if window is not None and window._spec.shape != (win_length,):
        raise Mismatch(
            f"expected a 1D window tensor of size equal to win_length={win_length}, but got window "
            f"with size {list(window._spec.shape)}"
        )


def _check_stft(self: Any, n_fft: int, hop: int, win_length: int, window: Any) -> None:
    spec = self._spec
    if not spec.dtype.is_inexact:
        raise Mismatch(f"expected a tensor of floating point or complex values, got {spec.dtype!r}")
    if spec.ndim not in (1, 2):
        raise Mismatch(f"expected a 1D or 2D tensor, got {spec.ndim}D")
    length = spec.shape[-1]
    if not 0 < n_fft <= length:
        raise Mismatch(f"expected 0 < n_fft <= {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise Mismatch(f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win_length <= n_fft:
        raise Mismatch(f"expected 0 < win_length <= n_fft, but got win_length={win_length}")
    _check_window(window, win_length)


def _centred(window: Any, n_fft: int) -> Any:
    """The window with zeros on both sides."""
    missing = n_fft - window._spec.shape[0]
    left = missing // 2
    return t.constant_pad_nd(window, (left, missing - left)) if missing else window


def _is_complex(value: Any) -> bool:
    return value is not None and bool(value._spec.dtype.is_complex)


def _wants_complex(self: Any, window: Any, return_complex: Any) -> bool:
    if return_complex is None:
        if not (_is_complex(self) or _is_complex(window)):
            raise Mismatch(
                "stft requires the return_complex parameter be given for real inputs; pass "
                "return_complex=True"
            )
        return True
    if not return_complex:
        warnings.warn(
            "stft with return_complex=False is deprecated; pass return_complex=True and use "
            "torch.view_as_real",
            UserWarning,
            stacklevel=2,
        )
    return bool(return_complex)


@composite(
    "stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
    'Tensor? window=None, bool center=True, str pad_mode="reflect", bool normalized=False, '
    "bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor"
)
def stft(
    self: Any, n_fft: int, hop_length: Any, win_length: Any, window: Any, center: bool,
    pad_mode: str, normalized: bool, onesided: Any, return_complex: Any, align_to_window: Any,
) -> Any:  # fmt: skip
    """The spectra of overlapping windows of a signal, one a column."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if align_to_window is not None and center:
        raise Mismatch("stft align_to_window should only be set when center = false")
    signal = self
    if center and self._spec.ndim in (1, 2):
        signal = _padded(self, n_fft // 2, pad_mode)
    _check_stft(signal, n_fft, hop, length, window)
    as_complex = _wants_complex(self, window, return_complex)
    if align_to_window:
        edge = (n_fft - length) // 2
        signal = t.constant_pad_nd(signal, (edge, edge))
    single = signal._spec.ndim == 1
    signal = t.unsqueeze(signal, 0) if single else signal
    frames = signal.unfold(-1, n_fft, hop)
    if window is not None:
        frames = frames * _centred(window, n_fft)
    elif length < n_fft:
        ones = t.ones((length,), dtype=signal._spec.dtype, device=signal._spec.device)
        frames = frames * _centred(ones, n_fft)
    found = _spectra(frames, onesided, Scale.ROOT_N if normalized else Scale.NONE)
    found = t.transpose(found, 1, 2)
    found = t.squeeze(found, 0) if single else found
    return found if as_complex else t.view_as_real(found)


def _padded(self: Any, edge: int, mode: str) -> Any:
    """The signal with `edge` more elements on both sides."""
    # Padding by reflection wants a channel dimension.
    spec = self._spec
    extended = t.reshape(self, (1,) * (3 - spec.ndim) + spec.shape)
    padded = t.pad(extended, (edge, edge), mode)
    return t.reshape(padded, (*spec.shape[:-1], padded._spec.shape[-1]))


def _spectra(frames: Any, onesided: Any, scale: Scale) -> Any:
    if frames._spec.dtype.is_complex:
        if onesided:
            raise Mismatch("Cannot have onesided output if window or input is complex")
        return t._fft_c2c(frames, [2], scale, True)
    return t._fft_r2c(frames, [2], scale, onesided is None or onesided)


def _check_istft(
    self: Any, n_fft: int, hop: int, win_length: int, window: Any, onesided: bool
) -> None:
    spec = self._spec
    if not spec.dtype.is_complex:
        raise Mismatch(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if spec.ndim not in (2, 3):
        raise Mismatch(f"expected a tensor with 2 or 3 dimensions, but got {spec.ndim}")
    if not spec.numel:
        raise Mismatch("input tensor cannot be empty.")
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if spec.shape[-2] != wanted:
        raise Mismatch(
            "expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"n_fft / 2 + 1 when onesided=True or n_fft otherwise: {wanted}, but got "
            f"{spec.shape[-2]}"
        )
    if not 0 < hop <= win_length:
        raise Mismatch(f"expected 0 < hop_length <= win_length, but got hop_length={hop}")
    if not 0 < win_length <= n_fft:
        raise Mismatch(f"expected 0 < win_length <= n_fft, but got win_length={win_length}")
    _check_window(window, win_length)


@composite(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
    "Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, "
    "int? length=None, bool return_complex=False) -> Tensor"
)
def istft(
    self: Any, n_fft: int, hop_length: Any, win_length: Any, window: Any, center: bool,
    normalized: bool, onesided: Any, length: Any, return_complex: bool,
) -> Any:  # fmt: skip
    """The signal whose windows have the given spectra, by weighted overlapping addition."""
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    half = onesided if onesided is not None else (
        self._spec.ndim < 2 or self._spec.shape[-2] != n_fft
    )  # fmt: skip
    _check_istft(self, n_fft, hop, win_length, window, half)
    if return_complex and onesided:
        raise Mismatch("Cannot have onesided output if window or input is complex")
    if not return_complex and _is_complex(window):
        raise Mismatch("Complex windows are incompatible with return_complex=False")
    if window is None:
        places = {"dtype": self._spec.dtype.to_real(), "device": self._spec.device}
        window = t.ones((win_length,), **places)
    window = _centred(window, n_fft)
    single = self._spec.ndim == 2
    spectra = t.transpose(t.unsqueeze(self, 0) if single else self, 1, 2)
    scale = Scale.ROOT_N if normalized else Scale.N
    if return_complex:
        frames = t._fft_c2c(spectra, [2], scale, False)
    else:
        spectra = spectra if half else t.narrow(spectra, 2, 0, n_fft // 2 + 1)
        frames = t._fft_c2r(spectra, [2], scale, n_fft)
    found = _added_up(frames, window, n_fft, hop, center, length)
    return t.squeeze(found, 0) if single else found


def _added_up(frames: Any, window: Any, n_fft: int, hop: int, center: bool, length: Any) -> Any:
    """Windowed frames added where they lie, divided by what the windows add up to."""
    batch, count = frames._spec.shape[:2]
    whole = n_fft + hop * (count - 1)
    total = t.unfold_backward(frames * window, (batch, whole), 1, n_fft, hop)
    squares = t.expand_copy(window * window, (1, count, n_fft))
    weight = t.unfold_backward(squares, (1, whole), 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    if length is not None:
        stop = start + length
    else:
        stop = whole - n_fft // 2 if center else whole
    kept = min(stop, whole) - start
    total, weight = t.narrow(total, 1, start, kept), t.narrow(weight, 1, start, kept)
    if not bool(t.all(t.gt(t.abs(weight), 1e-11))):
        raise Mismatch(
            "window overlap add min: expected windows that add up to more than 1e-11 everywhere, "
            "got less; use another window or hop_length"
        )
    found = total / weight
    missing = stop - start - kept
    if missing > 0:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded "
            "with zeros in the tail; check center and hop_length",
            UserWarning,
            stacklevel=2,
        )
        found = t.constant_pad_nd(found, (0, missing))
    return found
