"""Discrete Fourier transforms, and what is made of them."""

from thunk.ops.fft import frequencies, several, short_time, single, transforms

__all__ = ["frequencies", "several", "short_time", "single", "transforms"]
