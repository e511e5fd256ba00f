"""Enters: a dataset and how to go through it. Leaves: `DataLoader`, an iterable over batches.

Invariant: arguments are checked once, here, with PyTorch's exception types; what decides the order
of samples cannot be changed afterwards.
"""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from thunk.data.collate import default_collate, default_convert
from thunk.data.dataset import IterableDataset, size_of
from thunk.data.fetch import DatasetKind
from thunk.data.iterators import BaseLoaderIterator, MultiProcessIterator, iterator_for
from thunk.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from thunk.lazy.eager import eager

T_co = TypeVar("T_co", covariant=True)

_FIXED = frozenset(
    {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}
)


class _Nothings(Sampler[None]):
    """The endless "next one, please" that streams are asked with."""

    def __iter__(self) -> Any:
        while True:
            yield None


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> int | None:
    """The prefetch factor in effect; raises ValueError for what does not go together."""
    if num_workers < 0:
        raise ValueError(
            f"DataLoader: num_workers option should be non-negative, got {num_workers}; "
            "use num_workers=0 to load in this process"
        )
    if timeout < 0:
        raise ValueError(f"DataLoader: timeout option should be non-negative, got {timeout}")
    if persistent_workers and num_workers == 0:
        raise ValueError("DataLoader: persistent_workers option needs num_workers > 0")
    if prefetch_factor is None:
        return 2 if num_workers else None
    if num_workers == 0:
        raise ValueError(
            "DataLoader: prefetch_factor option could only be specified in multiprocessing; set "
            "num_workers > 0 or leave prefetch_factor out"
        )
    if prefetch_factor < 0:
        raise ValueError(
            f"DataLoader: prefetch_factor option should be non-negative, got {prefetch_factor}"
        )
    return prefetch_factor


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    given = {"sampler": sampler, "batch_sampler": batch_sampler}
    if shuffle:
        given = {"shuffle": shuffle}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}; the dataset itself decides the order"
            )


def _check_batches(
    batch_size: int | None, shuffle: bool, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    if sampler is not None and shuffle:
        raise ValueError("DataLoader: sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "DataLoader: batch_sampler option is mutually exclusive with batch_size, shuffle, "
                "sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "DataLoader: batch_size=None option disables auto-batching and is mutually exclusive "
            "with drop_last"
        )


def _context(given: Any, num_workers: int) -> BaseContext | None:
    """The multiprocessing context that `given` names."""
    if given is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "DataLoader: multiprocessing_context can only be used with multi-process loading "
            "(num_workers > 0), but got num_workers=0"
        )
    if isinstance(given, str):
        methods = multiprocessing.get_all_start_methods()
        if given not in methods:
            raise ValueError(
                f"DataLoader: multiprocessing_context option should specify a valid start method "
                f"in {methods!r}, but got multiprocessing_context={given!r}"
            )
        return multiprocessing.get_context(given)
    if not isinstance(given, BaseContext):
        raise TypeError(
            "DataLoader: multiprocessing_context option should be a valid context object or a "
            f"string specifying the start method, but got multiprocessing_context={given}"
        )
    return given


def _usable_cpus() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else (os.cpu_count() or 1)


class DataLoader(Generic[T_co]):
    """Batches of a dataset's samples, loaded here or by worker processes.

    With one seed, batches come in the order in which PyTorch's DataLoader brings them. Datasets,
    transforms and collation always run eagerly.
    """

    dataset: Any
    batch_size: int | None
    drop_last: bool
    sampler: Any
    batch_sampler: Any
    persistent_workers: bool
    _iterator: BaseLoaderIterator | None = None
    _initialized = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self.prefetch_factor = _check_workers(
            num_workers, timeout, prefetch_factor, persistent_workers
        )
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        self._choose_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self._IterableDataset_len_called: int | None = None
        self._initialized = True
        self.check_worker_number_rationality()

    def _choose_samplers(
        self,
        batch_size: int | None,
        shuffle: bool | None,
        sampler: Any,
        batch_sampler: Any,
        drop_last: bool,
    ) -> None:
        self._dataset_kind = DatasetKind.Map
        if isinstance(self.dataset, IterableDataset):
            self._dataset_kind = DatasetKind.Iterable
            _check_stream(shuffle, sampler, batch_sampler)
        _check_batches(batch_size, bool(shuffle), sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    def _default_sampler(self, shuffle: bool) -> Sampler[Any]:
        if self._dataset_kind == DatasetKind.Iterable:
            return _Nothings()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """How worker processes are started; None is Python's default."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, given: Any) -> None:
        self._multiprocessing_context = _context(given, self.num_workers)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in _FIXED:
            raise ValueError(
                f"DataLoader: {name} attribute should not be set after {type(self).__name__} is "
                "initialized; make another loader"
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Any:
        if not self.persistent_workers:
            return self._get_iterator()
        iterator = self._iterator
        if isinstance(iterator, MultiProcessIterator):
            with eager():
                iterator.restart(self)
        else:
            iterator = self._iterator = self._get_iterator()
        return iterator

    def _get_iterator(self) -> BaseLoaderIterator:
        return iterator_for(self)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == DatasetKind.Map:
            return size_of(self._index_sampler)
        # Remembered, so that a stream that yields more than it announced can be warned about.
        length = self._IterableDataset_len_called = size_of(self.dataset)
        if self.batch_size is None:
            return length
        whole, rest = divmod(length, self.batch_size)
        return whole if self.drop_last or not rest else whole + 1

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors to run them."""
        usable = _usable_cpus()
        if self.num_workers > usable:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total; our "
                f"suggested max number of worker in current system is {usable}: more of them wait "
                "for each other",
                stacklevel=3,
            )
