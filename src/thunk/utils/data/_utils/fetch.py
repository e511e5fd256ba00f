"""`thunk.utils.data._utils.fetch`: readers of datasets under PyTorch's module path."""

from thunk.data.fetch import MapFetcher as _MapDatasetFetcher
from thunk.data.fetch import StreamFetcher as _IterableDatasetFetcher

__all__ = ["_IterableDatasetFetcher", "_MapDatasetFetcher"]
