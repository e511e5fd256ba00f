"""Standard uniform numbers: a generator and a count enter, multiples of 2**-24 or 2**-53 leave.

Invariant: every sampler that needs uniform numbers takes them from here.
"""

from __future__ import annotations

import numpy as np

from thunk.runtime.random.generator import Generator
from thunk.runtime.random.rounding import Float32Array, Float64Array


def standard_uniform_single(generator: Generator, count: int) -> Float32Array:
    """Multiples of 2**-24 in [0, 1), one word each."""
    words = generator.draw32(count)
    words &= np.uint32(0xFFFFFF)
    # Signed integers convert faster, and these are below 2**24.
    samples = words.view(np.int32).astype(np.float32)
    samples *= np.float32(2.0**-24)
    return samples


def standard_uniform_double(generator: Generator, count: int) -> Float64Array:
    """Multiples of 2**-53 in [0, 1), two words each."""
    pairs = generator.draw64(count)
    pairs &= np.uint64(2**53 - 1)
    samples = pairs.view(np.int64).astype(np.float64)
    samples *= 2.0**-53
    return samples
