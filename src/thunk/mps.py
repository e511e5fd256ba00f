"""`thunk.mps`: Apple's GPUs, of which this build has none."""

from thunk.absent import Absent, members

_absent = Absent("torch.mps", "this build has no MPS backend", RuntimeError)

globals().update(
    members(
        _absent,
        false="is_available",
        zero="device_count",
        nothing="manual_seed",
        refused="current_allocated_memory driver_allocated_memory empty_cache get_rng_state "
        "recommended_max_memory seed set_per_process_memory_fraction set_rng_state synchronize",
        classes="Event",
    )
)
