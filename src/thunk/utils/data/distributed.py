"""`thunk.utils.data.distributed`: the sampler of several processes under PyTorch's module path."""

from thunk.data.distributed import DistributedSampler

__all__ = ["DistributedSampler"]
