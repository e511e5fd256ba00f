"""`torch.backends.openmp`: the runtime of threads that oneDNN brings along."""

from thunk.compat.names.backends.mkldnn import is_available

__all__ = ["is_available"]
