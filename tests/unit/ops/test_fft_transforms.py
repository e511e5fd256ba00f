"""Transforms against NumPy's, and the round trips that define the short-time ones."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import thunk
from thunk.autograd.gradcheck import gradcheck

NORMS = [None, "backward", "ortho", "forward"]


def _signal(*shape: int, is_complex: bool = False) -> Any:
    generator = numpy.random.default_rng(len(shape))
    values = generator.standard_normal(shape)
    return values + 1j * generator.standard_normal(shape) if is_complex else values


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n", [None, 3, 4, 11])
def test_single_transforms_are_numpys(name: str, n: int | None, norm: str | None) -> None:
    values = _signal(4, 6, is_complex=name not in ("rfft", "ihfft"))
    found = getattr(thunk.fft, name)(thunk.from_numpy(values), n, 0, norm).numpy()
    wanted = getattr(numpy.fft, name)(values, n, 0, norm)
    numpy.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "irfft2"])
def test_transforms_of_several_dimensions_are_numpys(name: str, norm: str | None) -> None:
    values = _signal(3, 4, 6, is_complex=not name.startswith("r"))
    for sizes in (None, (5, 2)):
        found = getattr(thunk.fft, name)(thunk.from_numpy(values), sizes, (0, 2), norm).numpy()
        wanted = getattr(numpy.fft, name)(values, sizes, (0, 2), norm)
        numpy.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_single_precision_stays_single_and_half_is_refused() -> None:
    assert thunk.fft.fft(thunk.ones(4)).dtype is thunk.complex64
    assert thunk.fft.rfft(thunk.ones(4, dtype=thunk.int32)).dtype is thunk.complex64
    with pytest.raises(RuntimeError, match="Unsupported dtype"):
        thunk.fft.fft(thunk.ones(4, dtype=thunk.float16))


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda x: thunk.fft.fft(x, 0), RuntimeError),
        (lambda x: thunk.fft.fft(x, dim=5), IndexError),
        (lambda x: thunk.fft.fft(x.sum()), IndexError),
        (lambda x: thunk.fft.fft(x, norm="best"), RuntimeError),
        (lambda x: thunk.fft.fftn(x, dim=(0, 0)), RuntimeError),
        (lambda x: thunk.fft.fftn(x, s=(2,), dim=(0, 1)), RuntimeError),
        (lambda x: thunk.fft.rfftn(x, dim=()), RuntimeError),
        (lambda x: thunk.fft.rfft(x.to(thunk.complex64)), RuntimeError),
        (lambda x: thunk.fft.fftfreq(4, dtype=thunk.int64), RuntimeError),
    ],
)
def test_bad_arguments_raise(call: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        call(thunk.ones(3, 4))


def test_frequencies_and_shifts_are_numpys() -> None:
    for count in (1, 4, 5):
        found = thunk.fft.fftfreq(count, 0.5, dtype=thunk.float64)
        assert found.tolist() == numpy.fft.fftfreq(count, 0.5).tolist()
        half = thunk.fft.rfftfreq(count, 0.5, dtype=thunk.float64)
        assert half.tolist() == numpy.fft.rfftfreq(count, 0.5).tolist()
        shifted = thunk.fft.fftshift(found)
        assert shifted.tolist() == sorted(found.tolist())
        assert thunk.fft.ifftshift(shifted).tolist() == found.tolist()


@pytest.mark.parametrize("size", [4, 5])
def test_gradients(size: int) -> None:
    real = thunk.from_numpy(_signal(2, 5)).requires_grad_()
    spectrum = thunk.from_numpy(_signal(2, 4, is_complex=True)).requires_grad_()
    assert gradcheck(lambda x: thunk.fft.rfft(x, size), (real,))
    assert gradcheck(lambda x: thunk.fft.irfftn(x, (2, size)), (spectrum,))
    assert gradcheck(lambda x: thunk.fft.hfft(x, size, norm="ortho"), (spectrum,))


@pytest.mark.parametrize("shape", [(100,), (2, 90)])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("onesided", [False, True])
def test_short_time_transforms_come_back(
    shape: tuple[int, ...], normalized: bool, onesided: bool
) -> None:
    signal = thunk.from_numpy(_signal(*shape))
    options = {
        "n_fft": 16, "hop_length": 5, "win_length": 14, "normalized": normalized,
        "onesided": onesided, "window": thunk.hann_window(14, dtype=thunk.float64) + 0.1,
    }  # fmt: skip
    spectra = thunk.stft(signal, return_complex=True, **options)
    assert spectra.shape[-2] == (9 if onesided else 16)
    back = thunk.istft(spectra, length=shape[-1], **options)
    numpy.testing.assert_allclose(back.numpy(), signal.numpy(), atol=1e-12)


def test_short_time_arguments_are_checked() -> None:
    signal = thunk.ones(100)
    with pytest.raises(RuntimeError, match="return_complex"):
        thunk.stft(signal, 10)
    with pytest.raises(RuntimeError, match="n_fft"):
        thunk.stft(signal, 200, center=False, return_complex=True)
    with pytest.raises(RuntimeError, match="window"):
        thunk.stft(signal, 10, window=thunk.ones(9), return_complex=True)
    with pytest.raises(RuntimeError, match="complex-valued"):
        thunk.istft(signal.reshape(10, 10), 18)
