"""Loading in one process: shortcuts equal the long way, lengths, warnings, and module paths."""

from __future__ import annotations

import itertools
import pickle
import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import thunk
import thunk.utils.data as public
from thunk.data.gather import rows_of, stacked
from thunk.lazy.eager import eager
from thunk.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)


@pytest.fixture(autouse=True)
def _op_by_op() -> Iterator[None]:
    """As a loader runs everything."""
    with eager():
        yield


SOURCES = {
    "matrix": lambda: thunk.arange(24.0).reshape(8, 3),
    "vector": lambda: thunk.arange(8),
    "transposed": lambda: thunk.arange(24).reshape(3, 8).t(),
    "strided": lambda: thunk.arange(32).reshape(16, 2)[::2],
    "expanded": lambda: thunk.ones(1, 2).expand(8, 2),
    "half": lambda: thunk.arange(8).bfloat16().reshape(8, 1),
    "flags": lambda: thunk.arange(8) > 3,
    "complex": lambda: thunk.complex(thunk.ones(8), thunk.zeros(8)),
    "no columns": lambda: thunk.ones(8, 0),
    "cube": lambda: thunk.arange(64, dtype=thunk.uint8).reshape(8, 2, 4).permute(0, 2, 1),
}


def same(left: Any, right: Any) -> bool:
    facts = [(x.dtype, x.shape, x.stride(), x.requires_grad) for x in (left, right)]
    return facts[0] == facts[1] and thunk.equal(left, right)


@pytest.mark.parametrize("name", SOURCES)
def test_gathering_rows_is_indexing_and_stacking(name: str) -> None:
    source = SOURCES[name]()
    for indices in ([0, 3, 7], [-1, -8, 2], [5], [1] * 20, range(4)):
        long_way = thunk.stack([source[index] for index in indices])
        assert same(rows_of(source, indices), long_way)
        assert same(stacked([source[index] for index in indices]), long_way)


def test_gathered_rows_are_copies() -> None:
    source = thunk.zeros(3, 2)
    rows_of(source, [1]).fill_(1)
    stacked([source[0]]).fill_(1)
    assert source.sum().item() == 0


class Tagged(thunk.Tensor):
    """A user's subclass."""


@pytest.mark.parametrize(
    "source",
    [
        thunk.ones(3, requires_grad=True),
        thunk.ones(3).as_subclass(Tagged),
        thunk.ones(3, device="meta"),
        thunk.tensor(1.0),
        [1, 2, 3],
    ],
    ids=["gradient", "subclass", "meta", "scalar", "list"],
)
def test_what_is_not_plain_takes_the_long_way(source: Any) -> None:
    assert rows_of(source, [0]) is None
    assert stacked([source]) is None or source.dim() == 0


@pytest.mark.parametrize("indices", [[3], [-4], [1.0], [True], [[0]], [], [[0], [1, 2]], ["a"]])
def test_odd_indices_take_the_long_way(indices: list[Any]) -> None:
    assert rows_of(thunk.ones(3), indices) is None


def test_gradients_flow_through_a_batch() -> None:
    weight = thunk.ones(3, 2, requires_grad=True)
    (batch,) = next(iter(DataLoader(TensorDataset(weight), batch_size=2)))
    batch.sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[1, 1], [1, 1], [0, 0]]


def test_subclasses_of_datasets_are_asked_for_samples() -> None:
    class Doubled(TensorDataset):
        def __getitem__(self, index: Any) -> Any:
            return super().__getitem__(index)[0] * 2

    class Shifted(Subset[Any]):
        def __getitem__(self, index: Any) -> Any:
            return self.__getitems__([index])[0]

        def __getitems__(self, indices: Any) -> list[Any]:
            return [self.dataset[self.indices[index]][0] + 10 for index in indices]

    rows = TensorDataset(thunk.arange(4))
    assert next(iter(DataLoader(Doubled(thunk.arange(4)), batch_size=4))).tolist() == [0, 2, 4, 6]
    assert next(iter(DataLoader(Shifted(rows, [3, 1]), batch_size=2))).tolist() == [13, 11]
    nested = DataLoader(Subset(Doubled(thunk.arange(4)), [3, 1]), batch_size=2)
    assert next(iter(nested)).tolist() == [6, 2]


def test_a_subset_that_overrides_half_is_refused() -> None:
    class Half(Subset[Any]):
        def __getitem__(self, index: Any) -> Any:
            return index

    with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
        Half([1], [0])


def test_writes_between_batches_are_seen() -> None:
    rows = thunk.zeros(4)
    batches = iter(DataLoader(TensorDataset(rows), batch_size=2))
    assert next(batches)[0].tolist() == [0, 0]
    rows.fill_(5)
    assert next(batches)[0].tolist() == [5, 5]


def test_lengths() -> None:
    for count in range(1, 9):
        for size in (1, 2, 3, 8, 20):
            for drop in (False, True):
                loader = DataLoader(range(count), batch_size=size, drop_last=drop)
                assert len(loader) == len(list(loader))


def test_a_stream_longer_than_announced_warns() -> None:
    class Stream(IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter(range(4))

        def __len__(self) -> int:
            return 2

    loader = DataLoader(Stream(), batch_size=None)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reported to be 2, but [34] samples") as told:
        assert list(loader) == [0, 1, 2, 3]
    assert len(told) == 2


def test_warnings_of_options() -> None:
    with pytest.warns(UserWarning, match="suggested max number of worker"):
        DataLoader([1], num_workers=10_000)
    with pytest.warns(UserWarning, match="pin_memory=True has no effect"):
        assert [b.tolist() for b in DataLoader([1, 2], pin_memory=True)] == [[1], [2]]
    with pytest.warns(UserWarning, match="split at index 1 is 0"):
        random_split([1], [0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(DataLoader([1, 2]))


def test_the_shares_of_all_ranks_cover_the_dataset() -> None:
    for count in (1, 7, 12):
        for replicas in (1, 2, 3, 5):
            shares = [list(DistributedSampler(range(count), replicas, r)) for r in range(replicas)]
            assert len({len(share) for share in shares}) == 1
            assert set().union(*shares) == set(range(count))
    sampler = DistributedSampler(range(50))
    first = list(sampler)
    sampler.set_epoch(1)
    assert sorted(first) == sorted(sampler) == list(range(50))
    assert first != list(sampler)


def test_own_samplers() -> None:
    class Backwards(public.Sampler[int]):
        def __init__(self, source: Any) -> None:
            self.source = source

        def __iter__(self) -> Any:
            return iter(range(len(self.source))[::-1])

    loader = DataLoader([1, 2, 3], sampler=Backwards([1, 2, 3]))
    assert [batch.item() for batch in loader] == [3, 2, 1]
    with pytest.raises(TypeError):
        len(loader)
    with pytest.raises(NotImplementedError, match="defines __iter__"):
        iter(public.Sampler())


def test_loaders_can_be_pickled() -> None:
    loader = DataLoader(TensorDataset(thunk.arange(4)), batch_size=2, shuffle=True,
                        generator=thunk.Generator().manual_seed(3))  # fmt: skip
    twin = pickle.loads(pickle.dumps(loader))
    assert [b[0].tolist() for b in twin] == [b[0].tolist() for b in loader]


def test_public_paths() -> None:
    assert public.dataloader.DataLoader is public.DataLoader
    assert public.sampler.BatchSampler is public.BatchSampler
    assert public.dataset.Dataset is public.Dataset is Dataset
    assert public.distributed.DistributedSampler is public.DistributedSampler
    assert public._utils.collate.default_collate is public.default_collate
    assert public._utils.worker._worker_info is None
    iterator = iter(DataLoader([1]))
    assert isinstance(iterator, public.dataloader._SingleProcessDataLoaderIter)
    assert isinstance(iterator, public.dataloader._BaseDataLoaderIter)


def test_two_iterators_of_one_loader_are_independent() -> None:
    loader = DataLoader(range(6), batch_size=2, shuffle=True)
    thunk.manual_seed(0)
    random.seed(0)
    pairs = list(zip(loader, loader))
    assert len(pairs) == 3
    for side in (0, 1):
        assert sorted(itertools.chain(*(pair[side].tolist() for pair in pairs))) == list(range(6))
