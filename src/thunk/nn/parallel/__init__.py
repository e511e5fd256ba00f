"""Modules on several processes or devices: here one of each, so the module itself does the work."""

from thunk.nn.parallel import data_parallel, distributed
from thunk.nn.parallel.data_parallel import DataParallel
from thunk.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "distributed"]
