"""NumPy rules of the Fourier transforms.

Enters: arrays, dimensions, a scale. Leaves: spectra or signals in the operand's precision.
Invariant: scales are what is divided by, whichever way the transform goes.
"""

from __future__ import annotations

from typing import Any

import numpy

from thunk.backends.reference.kernel import rule

# NumPy names a scale by the direction that it belongs to.
_FORWARD: dict[int, Any] = {0: "backward", 1: "ortho", 2: "forward"}
_BACK: dict[int, Any] = {0: "forward", 1: "ortho", 2: "backward"}


@rule("_fft_r2c")
def r2c(spec: Any, self: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    if not spec.numel:
        return numpy.empty(spec.shape, spec.dtype.numpy)
    transform = numpy.fft.rfftn if onesided else numpy.fft.fftn
    return transform(self, axes=list(dim), norm=_FORWARD[int(normalization)])


@rule("_fft_c2r")
def c2r(spec: Any, self: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
    if not spec.numel:
        return numpy.empty(spec.shape, spec.dtype.numpy)
    sizes = [self.shape[each] for each in dim[:-1]] + [last_dim_size]
    return numpy.fft.irfftn(self, sizes, list(dim), _BACK[int(normalization)])


@rule("_fft_c2c")
def c2c(spec: Any, self: Any, dim: Any, normalization: int, forward: bool) -> Any:
    if not self.size or not dim:
        return self
    if forward:
        return numpy.fft.fftn(self, axes=list(dim), norm=_FORWARD[int(normalization)])
    return numpy.fft.ifftn(self, axes=list(dim), norm=_BACK[int(normalization)])
