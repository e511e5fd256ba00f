"""`torch.backends.cudnn`: switches of a library that is not there: scripts set them."""

from __future__ import annotations

from contextlib import AbstractContextManager

from thunk.compat.names.backends.switches import switched

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def is_available() -> bool:
    """Whether cuDNN can be used: never."""
    return False


def version() -> int | None:
    """The version of cuDNN: none."""
    return None


def is_acceptable(tensor: object) -> bool:
    """Whether cuDNN would take a tensor: never."""
    return False


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """Other values inside a `with` block."""
    return switched(
        __name__,
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
        fp32_precision=fp32_precision,
    )


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = None,
) -> tuple[bool, bool, int, bool, bool, str]:
    """Set the switches that are given; returns what stood before."""
    global enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision
    before = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)
    enabled = before[0] if _enabled is None else _enabled
    benchmark = before[1] if _benchmark is None else _benchmark
    benchmark_limit = before[2] if _benchmark_limit is None else _benchmark_limit
    deterministic = before[3] if _deterministic is None else _deterministic
    allow_tf32 = before[4] if _allow_tf32 is None else _allow_tf32
    fp32_precision = before[5] if _fp32_precision is None else _fp32_precision
    return before
