"""`thunk.cuda`: what scripts ask before they choose a device. This build has no CUDA device."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from thunk.absent import Absent, OutOfMemoryError, chosen_device, members
from thunk.cuda import amp

_absent = Absent("torch.cuda", "Torch not compiled with CUDA enabled", AssertionError)

device = chosen_device
device_of = chosen_device
default_generators: tuple[Any, ...] = ()
has_half = True


def stream(stream: Any) -> AbstractContextManager[None]:
    """Queue work on a stream inside a `with` block: there are none, and None is allowed."""
    return nullcontext()


StreamContext = stream

globals().update(
    members(
        _absent,
        false="is_available is_initialized is_bf16_supported is_tf32_supported "
        "is_current_stream_capturing",
        zero="device_count memory_allocated max_memory_allocated memory_reserved "
        "max_memory_reserved memory_cached max_memory_cached",
        nothing="manual_seed manual_seed_all seed seed_all empty_cache reset_peak_memory_stats "
        "reset_max_memory_allocated reset_max_memory_cached reset_accumulated_memory_stats "
        "set_rng_state_all",
        empty_list="get_rng_state_all get_arch_list memory_snapshot",
        empty_dict="memory_stats host_memory_stats",
        refused="initial_seed current_device set_device synchronize get_device_name "
        "get_device_properties get_device_capability current_stream default_stream set_stream "
        "memory_summary mem_get_info get_rng_state set_rng_state ipc_collect init utilization "
        "set_per_process_memory_fraction can_device_access_peer current_blas_handle cudart "
        "get_sync_debug_mode set_sync_debug_mode make_graphed_callables graph_pool_handle",
        classes="Stream Event CUDAGraph ExternalStream FloatTensor DoubleTensor HalfTensor "
        "BFloat16Tensor ByteTensor CharTensor ShortTensor IntTensor LongTensor BoolTensor",
    )
)

__all__ = ["OutOfMemoryError", "amp", "device", "device_of", "stream"]
