"""`torch.backends.cuda`: switches of a device that is not there, and of attention."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


class _Matmul:
    """How products would be computed on CUDA."""

    def __init__(self) -> None:
        self.allow_tf32 = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True
        self.allow_fp16_accumulation = False
        self.fp32_precision = "none"


class _PlanCache:
    """Plans of Fourier transforms on CUDA: there are none."""

    def __init__(self) -> None:
        self.size = 0
        self.max_size = 0

    def clear(self) -> None:
        """Forget the plans."""


matmul = _Matmul()
cufft_plan_cache = _PlanCache()
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Whether CUDA was built in: never."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether flash attention may be chosen."""
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Allow flash attention."""
    _attention["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether memory-efficient attention may be chosen."""
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allow memory-efficient attention."""
    _attention["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention may be computed step by step."""
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Allow attention step by step."""
    _attention["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether cuDNN's attention may be chosen."""
    return _attention["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allow cuDNN's attention."""
    _attention["cudnn"] = bool(enabled)


def sdp_kernel(*args: Any, **kwargs: Any) -> AbstractContextManager[None]:
    """Choose CUDA's attention kernels in a `with` block: there are none to choose from."""
    return nullcontext()


def preferred_linalg_library(backend: Any = None) -> str:
    """The library of linear algebra on CUDA."""
    return "default"
