"""`thunk.cuda.amp`: autocast and gradient scaling for CUDA, under their older names."""

from __future__ import annotations

from typing import Any

from thunk.amp.autocast_mode import autocast as _autocast
from thunk.amp.autocast_mode import custom_bwd, custom_fwd
from thunk.amp.grad_scaler import GradScaler as _GradScaler
from thunk.types.dtype import dtype as _dtype
from thunk.types.dtype import float16


class autocast(_autocast):
    """Autocast on CUDA: without a device it changes nothing."""

    def __init__(
        self, enabled: bool = True, dtype: _dtype = float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """Gradient scaling on CUDA: without a device it changes nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", *args, **kwargs)


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
