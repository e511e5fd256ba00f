"""Enters: a dataset or its length. Leaves: samplers, streams of indices or lists of indices.

Invariant: a sampler draws from its generator when it is iterated, as much and in the same order as
PyTorch's, so that one seed gives one order of samples.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from thunk.data.dataset import size_of
from thunk.ops.registry import t
from thunk.tensor.creation import as_tensor
from thunk.tensor.generator import Generator
from thunk.types.dtype import float64, int64

T_co = TypeVar("T_co", covariant=True)

_DRAWN_AT_ONCE = 32


def drawn_seed(generator: Any = None) -> int:
    """A 64-bit seed from a generator, the default one if none is given."""
    return int(t.empty((), dtype=int64).random_(generator=generator).item())


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


class Sampler(Generic[T_co]):
    """Base of all samplers: subclasses define `__iter__` and, where there is an end, `__len__`."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(
            f"{type(self).__name__}: expected a sampler that defines __iter__, got none"
        )


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ..."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(size_of(self.data_source)))

    def __len__(self) -> int:
        return size_of(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order; with replacement, `num_samples` independent ones."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"RandomSampler: replacement should be a boolean value, but got "
                f"replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                f"RandomSampler: num_samples should be a positive integer value, but got "
                f"num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many indices one pass draws."""
        return size_of(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(drawn_seed())
        count = size_of(self.data_source)
        yield from (self._independent if self.replacement else self._permuted)(generator, count)

    def _independent(self, generator: Any, count: int) -> Iterator[int]:
        remaining = self.num_samples
        while remaining >= 0:
            size = min(remaining, _DRAWN_AT_ONCE)
            yield from t.randint(count, (size,), dtype=int64, generator=generator).tolist()
            remaining -= _DRAWN_AT_ONCE

    def _permuted(self, generator: Any, count: int) -> Iterator[int]:
        whole, rest = divmod(self.num_samples, count)
        for _ in range(whole):
            yield from t.randperm(count, generator=generator).tolist()
        # One more permutation is drawn even if none of it is needed: PyTorch's stream has it.
        yield from t.randperm(count, generator=generator).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for place in t.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices drawn with probabilities in proportion to `weights`."""

    def __init__(
        self,
        weights: Any,
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        if not _is_count(num_samples):
            raise ValueError(
                f"WeightedRandomSampler: num_samples should be a positive integer value, but got "
                f"num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"WeightedRandomSampler: replacement should be a boolean value, but got "
                f"replacement={replacement}"
            )
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                "WeightedRandomSampler: weights should be a 1d sequence but given weights have "
                f"shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = t.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last one is shorter or dropped."""

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not _is_count(batch_size):
            raise ValueError(
                f"BatchSampler: batch_size should be a positive integer value, but got "
                f"batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(
                f"BatchSampler: drop_last should be a boolean value, but got drop_last={drop_last}"
            )
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        whole, rest = divmod(size_of(self.sampler), self.batch_size)
        return whole if self.drop_last or not rest else whole + 1
