"""Enters: samples, by index or as a stream. Leaves: datasets made of them and of each other.

Invariant: a dataset computes nothing until it is asked for a sample; `__collated__`, where there is
one, returns exactly what the default collation of the single samples would.
"""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from thunk.data.gather import rows_of
from thunk.ops.registry import t
from thunk.tensor.generator import default_generator

T_co = TypeVar("T_co", covariant=True)


def size_of(dataset: Any) -> int:
    """The number of samples of a dataset that knows it."""
    return len(dataset)


class Dataset(Generic[T_co]):
    """Samples by key. Subclasses define `__getitem__`, and `__len__` where there is an end.

    A subclass may define `__getitems__(indices)`, which returns a list of samples at once.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(
            f"{type(self).__name__}: Subclasses of Dataset should implement __getitem__."
        )

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples as a stream. Subclasses define `__iter__`.

    Every worker process has its own copy and reads the whole stream unless `get_worker_info()`
    tells it which part is its own.
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset[Any]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Row `i` of each of several tensors as sample `i`."""

    tensors: tuple[Any, ...]

    def __init__(self, *tensors: Any) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            sizes = [tensor.size(0) for tensor in tensors]
            raise AssertionError(
                f"TensorDataset: expected as many rows in every tensor, got {sizes}: "
                "Size mismatch between tensors"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))

    def __collated__(self, indices: Sequence[int]) -> list[Any] | None:
        """The batch of these samples in one step a tensor; None where it takes the long way."""
        if type(self).__getitem__ is not TensorDataset.__getitem__:
            return None
        batch = [rows_of(tensor, indices) for tensor in self.tensors]
        return None if any(part is None for part in batch) else batch


class StackDataset(Dataset[Any]):
    """Sample `i` of each of several datasets, as a tuple or, given by keyword, as a dict."""

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "StackDataset: expected datasets either by position (samples are a ``tuple``) or "
                "by keyword (a ``dict``), got both"
            )
        parts = list(args) or list(kwargs.values())
        if not parts:
            raise ValueError("StackDataset: At least one dataset should be passed, got none")
        self._length = size_of(parts[0])
        if any(size_of(part) != self._length for part in parts):
            raise ValueError(
                "StackDataset: expected datasets of one length, got "
                f"{[size_of(part) for part in parts]}: Size mismatch between datasets"
            )
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        if isinstance(self.datasets, dict):
            columns = [_column(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns)]
        return list(zip(*(_column(dataset, indices) for dataset in self.datasets)))

    def __len__(self) -> int:
        return self._length


def _column(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """Samples of one dataset, all at once where it knows how."""
    at_once = getattr(dataset, "__getitems__", None)
    if not callable(at_once):
        return [dataset[index] for index in indices]
    samples: list[Any] = at_once(indices)
    if len(samples) != len(indices):
        raise ValueError(
            "Nested dataset's output size mismatch: StackDataset: "
            f"Expected {len(indices)} samples from __getitems__, got {len(samples)}"
        )
    return samples


class ConcatDataset(Dataset[T_co]):
    """Several datasets one after the other."""

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each dataset ends."""
        return list(itertools.accumulate(size_of(part) for part in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError(
                "ConcatDataset: expected at least one dataset, got none: datasets should not be "
                "an empty iterable"
            )
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset; use ChainDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError(
                    f"ConcatDataset: expected an index of at least {-len(self)}, got {index}: "
                    "absolute value of index should not exceed dataset length"
                )
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - start]

    @property
    def cummulative_sizes(self) -> list[int]:
        """`cumulative_sizes` under its former name."""
        warnings.warn(
            "ConcatDataset: cummulative_sizes is now called cumulative_sizes",
            FutureWarning,
            stacklevel=2,
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[T_co]):
    """Several streams one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}; "
                    "use ConcatDataset"
                )
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for stream in self._streams():
            yield from stream

    def __len__(self) -> int:
        return sum(size_of(stream) for stream in self._streams())


class Subset(Dataset[T_co]):
    """Some samples of a dataset, chosen by their indices."""

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        cls = type(self)
        own_item = cls.__getitem__ is not Subset.__getitem__
        if own_item and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__, which a DataLoader "
                "asks; define it, for example as [self[i] for i in indices]"
            )
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        chosen = [self.indices[index] for index in indices]
        at_once = getattr(self.dataset, "__getitems__", None)
        if callable(at_once):
            return at_once(chosen)  # type: ignore[no-any-return]  # the dataset's own method
        return [self.dataset[index] for index in chosen]

    def __len__(self) -> int:
        return len(self.indices)

    def __collated__(self, indices: Sequence[int]) -> Any:
        """The batch of these samples, where the dataset can make it in one step."""
        at_once = getattr(self.dataset, "__collated__", None)
        if at_once is None or type(self).__getitems__ is not Subset.__getitems__:
            return None
        return at_once([self.indices[index] for index in indices])


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Any = default_generator
) -> list[Subset[Any]]:
    """Subsets of the given lengths, or of fractions that sum up to 1, without overlap."""
    total = size_of(dataset)
    counts: list[Any] = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        counts = _counts_of(lengths, total)
    if sum(counts) != total:
        raise ValueError(
            f"random_split: Sum of input lengths does not equal the length of the input dataset! "
            f"expected {total}, got {sum(counts)}"
        )
    order: list[int] = t.randperm(total, generator=generator).tolist()
    ends = itertools.accumulate(counts)
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends)]


def _counts_of(fractions: Sequence[float], total: int) -> list[int]:
    """Samples for each fraction; what rounding leaves over goes to the first ones in turn."""
    for position, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(
                f"random_split: expected fractions of [0, 1], got {fraction}: Fraction at index "
                f"{position} is not between 0 and 1"
            )
    counts = [math.floor(total * fraction) for fraction in fractions]
    for position in range(total - sum(counts)):
        counts[position % len(counts)] += 1
    for position, count in enumerate(counts):
        if count == 0:
            warnings.warn(
                f"random_split: Length of split at index {position} is 0; its subset is empty",
                stacklevel=3,
            )
    return counts
