"""Serialization: PyTorch's checkpoints and safetensors files, read without trusting them."""

from thunk.serialization import safetensors
from thunk.serialization.loading import load
from thunk.serialization.location import default_restore_location, location_tag, register_package
from thunk.serialization.machine import get_unsafe_globals_in_checkpoint
from thunk.serialization.safe import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from thunk.serialization.saving import save

__all__ = [
    "add_safe_globals", "clear_safe_globals", "default_restore_location", "get_safe_globals",
    "get_unsafe_globals_in_checkpoint", "load", "location_tag", "register_package", "safe_globals",
    "safetensors", "save",
]  # fmt: skip
