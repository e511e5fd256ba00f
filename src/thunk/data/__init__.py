"""Datasets, samplers and the DataLoader; users know them as `thunk.utils.data`.

Everything here runs eagerly, in the loader's process or in its workers, whatever the program around
it does: loading never becomes part of a trace.
"""

from thunk.data.collate import default_collate, default_convert
from thunk.data.dataloader import DataLoader
from thunk.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from thunk.data.distributed import DistributedSampler
from thunk.data.hooks import before_fork
from thunk.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from thunk.data.worker import get_worker_info

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler",
    "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "before_fork",
    "default_collate", "default_convert", "get_worker_info", "random_split",
]  # fmt: skip
