"""`thunk.xpu`: Intel's GPUs, of which this build has none."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from thunk.absent import Absent, chosen_device, members

_absent = Absent("torch.xpu", "Torch not compiled with XPU enabled", AssertionError)

device = chosen_device
device_of = chosen_device
default_generators: tuple[Any, ...] = ()


def stream(stream: Any) -> AbstractContextManager[None]:
    """Queue work on a stream inside a `with` block: there are none, and None is allowed."""
    return nullcontext()


globals().update(
    members(
        _absent,
        false="is_available is_initialized is_bf16_supported is_tf32_supported",
        zero="device_count memory_allocated max_memory_allocated memory_reserved "
        "max_memory_reserved",
        nothing="manual_seed manual_seed_all seed seed_all empty_cache reset_peak_memory_stats "
        "reset_accumulated_memory_stats set_rng_state_all",
        empty_list="get_rng_state_all get_arch_list memory_snapshot",
        empty_dict="memory_stats",
        refused="initial_seed current_device set_device synchronize get_device_name "
        "get_device_properties get_device_capability current_stream set_stream mem_get_info "
        "get_rng_state set_rng_state init",
        classes="Stream Event",
    )
)
