"""Enters: the modes of this thread. Leaves: one token that is equal when calls mean the same.

Invariant: whatever changes what a call records, besides its arguments, is in the token.
"""

from __future__ import annotations

from typing import Any

from thunk.dispatch.registry import registry
from thunk.dispatch.state import state
from thunk.runtime.tensors import birth
from thunk.types.device import get_default_device
from thunk.types.promotion import get_default_dtype


def mode_token() -> tuple[Any, ...]:
    """What calls of this thread mean now."""
    return (
        state.grad_enabled, birth.inference, state.include, state.exclude, state.autocast_dtype,
        state.autocast_cache, get_default_dtype(), get_default_device(), registry.version,
    )  # fmt: skip
