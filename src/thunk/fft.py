"""Discrete Fourier transforms, under PyTorch's names: `thunk.fft.fft`, `thunk.fft.rfft`..."""

from typing import TYPE_CHECKING

from thunk.tensor.public import publish_module

if TYPE_CHECKING:
    from thunk._fft import *  # noqa: F403

publish_module("fft", globals())
