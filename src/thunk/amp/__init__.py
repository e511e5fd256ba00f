"""Automatic mixed precision: products in 16 bits, what loses by it in 32."""

from thunk.amp import autocast_mode, grad_scaler
from thunk.amp.autocast_mode import (
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)
from thunk.amp.grad_scaler import GradScaler

__all__ = [
    "GradScaler", "autocast", "autocast_mode", "custom_bwd", "custom_fwd", "grad_scaler",
    "is_autocast_available",
]  # fmt: skip
