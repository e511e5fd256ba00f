"""Pictures of another size, sampled elsewhere or with their elements rearranged."""

from thunk.ops.resample import grid, shuffle, upsample

__all__ = ["grid", "shuffle", "upsample"]
