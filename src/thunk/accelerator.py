"""`thunk.accelerator`: whichever accelerator there is: none."""

from __future__ import annotations

from typing import Any

from thunk.absent import Absent, chosen_device, members

_absent = Absent(
    "torch.accelerator", "Cannot access accelerator device when none is available.", RuntimeError
)

device_index = chosen_device


def current_accelerator(check_available: bool = False) -> Any:
    """The accelerator of this process: None."""
    return None


globals().update(
    members(
        _absent,
        false="is_available",
        zero="device_count",
        refused="current_device_idx current_device_index current_stream empty_cache "
        "get_device_capability get_memory_info max_memory_allocated max_memory_reserved "
        "memory_allocated memory_reserved memory_stats reset_accumulated_memory_stats "
        "reset_peak_memory_stats set_device_idx set_device_index set_stream synchronize",
    )
)
