"""Discrete Fourier transforms, under PyTorch's names: `thunk.fft.fft`, `thunk.fft.rfft`..."""

from thunk.ops.public import publish_module

publish_module("fft", globals())
