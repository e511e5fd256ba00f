"""Discrete Fourier transforms, under PyTorch's names: `thunk.fft.fft`, `thunk.fft.rfft`..."""

from thunk.tensor.public import publish_module

publish_module("fft", globals())
