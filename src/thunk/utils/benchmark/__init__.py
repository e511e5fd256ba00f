"""`thunk.utils.benchmark`: times of short pieces of code, pending work included."""

from thunk.utils.benchmark.timer import Measurement, Timer

__all__ = ["Measurement", "Timer"]
