"""`thunk.utils.data.dataloader`: the loader and its iterators under PyTorch's module path."""

from thunk.data.collate import default_collate, default_convert
from thunk.data.dataloader import DataLoader
from thunk.data.fetch import DatasetKind as _DatasetKind
from thunk.data.iterators import BaseLoaderIterator as _BaseDataLoaderIter
from thunk.data.iterators import MultiProcessIterator as _MultiProcessingDataLoaderIter
from thunk.data.iterators import SingleProcessIterator as _SingleProcessDataLoaderIter
from thunk.data.worker import get_worker_info

__all__ = [
    "DataLoader", "_BaseDataLoaderIter", "_DatasetKind", "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter", "default_collate", "default_convert", "get_worker_info",
]  # fmt: skip
