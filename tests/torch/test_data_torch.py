"""Loaders, samplers, datasets and collation beside torch's: the same seed, the same batches.

A program is written once and run on both frameworks; what it returns is compared as plain values.
"""

from __future__ import annotations

import collections
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
import torch.utils.data

import thunk
import thunk.utils.data

Point = collections.namedtuple("Point", ["x", "y"])
Program = Callable[[Any, Any], Any]


def plain(value: Any) -> Any:
    """Tensors as (dtype, shape, strides, values), containers as themselves with their type."""
    if hasattr(value, "detach"):
        return (str(value.dtype), tuple(value.shape), tuple(value.stride()), value.tolist())
    if isinstance(value, dict):
        return (type(value).__name__, {key: plain(item) for key, item in value.items()})
    if isinstance(value, (list, tuple, collections.UserList)):
        return (type(value).__name__, [plain(item) for item in value])
    if isinstance(value, numpy.ndarray):
        return ("ndarray", value.tolist())
    return value


def outcome(program: Program, framework: Any) -> Any:
    framework.manual_seed(11)
    random.seed(11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(program(framework, framework.utils.data))
        except Exception as error:
            return type(error).__name__


def assert_alike(program: Program) -> Any:
    ours, theirs = outcome(program, thunk), outcome(program, torch)
    assert ours == theirs
    return theirs


class Squares:
    """A map-style dataset that is a Dataset of neither framework."""

    def __init__(self, framework: Any, count: int = 11) -> None:
        self.framework = framework
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.framework.tensor([index, index * index]), float(index), index, str(index)


def noisy(framework: Any) -> Any:
    class Noisy(framework.utils.data.Dataset):  # type: ignore[name-defined, misc]
        def __len__(self) -> int:
            return 9

        def __getitem__(self, index: int) -> Any:
            info = framework.utils.data.get_worker_info()
            seed = -1 if info is None else info.seed
            noise = framework.rand(2), random.random(), numpy.random.randint(1000), seed
            return index, noise if info is not None else noise[:2]

    return Noisy()


def stream(framework: Any, count: int = 11, per_worker: bool = False, announced: int = 0) -> Any:
    class Stream(framework.utils.data.IterableDataset):  # type: ignore[name-defined, misc]
        def __iter__(self) -> Any:
            info = framework.utils.data.get_worker_info()
            step, start = (1, 0) if info is None or not per_worker else (info.num_workers, info.id)
            # Worker 0 gets more than its share, so that workers end at different times.
            return iter(range(start, count + 3 * (start == 0), step))

        if announced:

            def __len__(self) -> int:
                return announced

    return Stream()


def epochs(loader: Any, count: int = 2) -> list[Any]:
    return [list(loader) for _ in range(count)]


LOADERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "batches": {"batch_size": 4},
    "dropped": {"batch_size": 4, "drop_last": True},
    "shuffled": {"batch_size": 3, "shuffle": True},
    "unbatched": {"batch_size": None, "shuffle": True},
    "own collation": {"batch_size": 4, "collate_fn": len},
    "own order": {"batch_size": 4, "sampler": [3, 1, 4, 1, 5, 9]},
    "own batches": {"batch_sampler": [[0, 2], [1], [5, 6, 7]]},
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", LOADERS)
def test_loaders(name: str, workers: int) -> None:
    def program(framework: Any, data: Any) -> Any:
        loader = data.DataLoader(Squares(framework), num_workers=workers, **LOADERS[name])
        return len(loader), epochs(loader), framework.rand(2)

    assert isinstance(assert_alike(program), tuple)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("seeded", [False, True])
def test_tensor_datasets_and_generators(workers: int, seeded: bool) -> None:
    def program(framework: Any, data: Any) -> Any:
        rows = framework.arange(42).reshape(3, 14).t()
        dataset = data.TensorDataset(rows, framework.arange(14.0), framework.ones(14, 0))
        generator = framework.Generator().manual_seed(5) if seeded else None
        loader = data.DataLoader(
            dataset, batch_size=4, shuffle=True, num_workers=workers, generator=generator
        )
        subset = data.Subset(dataset, [5, -1, 0, 7, 7])
        return epochs(loader), list(data.DataLoader(subset, batch_size=2, num_workers=workers))

    assert_alike(program)


@pytest.mark.parametrize("options", [{}, {"persistent_workers": True}, {"prefetch_factor": 1}])
def test_workers_are_seeded_alike(options: dict[str, Any]) -> None:
    def program(framework: Any, data: Any) -> Any:
        def announce(worker: int) -> None:
            random.seed(random.random() + worker)

        loader = data.DataLoader(
            noisy(framework), batch_size=2, num_workers=2, worker_init_fn=announce, **options
        )
        return epochs(loader)

    assert_alike(program)


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("name", ["plain", "dropped", "unbatched"])
def test_streams(workers: int, persistent: bool, name: str) -> None:
    def program(framework: Any, data: Any) -> Any:
        dataset = stream(framework, per_worker=True, announced=11)
        loader = data.DataLoader(
            dataset,
            num_workers=workers,
            persistent_workers=persistent and workers > 0,
            **{**LOADERS[name], "shuffle": False},
        )
        return len(loader), epochs(loader)

    assert_alike(program)


SAMPLERS: dict[str, Callable[[Any, Any], Any]] = {
    "random": lambda T, D: D.RandomSampler(range(10)),
    "more than all": lambda T, D: D.RandomSampler(range(7), num_samples=17),
    "replacement": lambda T, D: D.RandomSampler(range(10), replacement=True, num_samples=70),
    "few": lambda T, D: D.RandomSampler(range(10), num_samples=3),
    "seeded": lambda T, D: D.RandomSampler(range(9), generator=T.Generator().manual_seed(1)),
    "subset": lambda T, D: D.SubsetRandomSampler([4, 8, 15, 16]),
    "weighted": lambda T, D: D.WeightedRandomSampler([0.1, 0.9, 3.0, 0.0], 20),
    "weighted once": lambda T, D: D.WeightedRandomSampler([0.1, 0.9, 3.0], 3, replacement=False),
    "batches": lambda T, D: D.BatchSampler(D.SequentialSampler(range(10)), 3, False),
    "full batches": lambda T, D: D.BatchSampler(range(10), 3, True),
    "share": lambda T, D: D.distributed.DistributedSampler(range(10), 3, 1),
    "short share": lambda T, D: D.DistributedSampler(range(10), 3, 2, drop_last=True, seed=7),
    "padded share": lambda T, D: D.DistributedSampler(range(2), 5, 4, shuffle=False),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name: str) -> None:
    def program(framework: Any, data: Any) -> Any:
        sampler = SAMPLERS[name](framework, data)
        first, second = list(sampler), list(sampler)
        return len(sampler), first, second, framework.rand(1)

    assert isinstance(assert_alike(program), tuple)


SPLITS: list[Any] = [
    [3, 7], [0.5, 0.5], [0.3, 0.3, 0.4], [1.0], [0.34, 0.33, 0.33], [0.0, 1.0], [3, 8],
    [0.5, 0.6], [1.5, -0.5],
]  # fmt: skip


@pytest.mark.parametrize("lengths", SPLITS, ids=str)
def test_random_split(lengths: list[Any]) -> None:
    def program(framework: Any, data: Any) -> Any:
        seeded = framework.Generator().manual_seed(3)
        parts = data.random_split(range(10), lengths)
        return [list(part) for part in parts + data.random_split(range(10), lengths, seeded)]

    assert_alike(program)


BATCHES: dict[str, Callable[[Any], Any]] = {
    "tensors": lambda T: [T.arange(6).reshape(2, 3)] * 2,
    "transposed": lambda T: [T.arange(6).reshape(2, 3).t()] * 2,
    "scalars": lambda T: [T.tensor(1.5), T.tensor(2.5)],
    "empty rows": lambda T: [T.ones(0, 2)] * 3,
    "bfloat16": lambda T: [T.ones(2).bfloat16()] * 2,
    "gradients": lambda T: [T.ones(2, requires_grad=True) * 2, T.ones(2)],
    "ragged tensors": lambda T: [T.ones(2), T.ones(3)],
    "mixed dtypes": lambda T: [T.ones(2), T.ones(2, dtype=T.int64)],
    "ints": lambda T: [1, 2, 3],
    "bools": lambda T: [True, False],
    "floats": lambda T: [0.1, 0.2],
    "strings": lambda T: ["a", "b"],
    "bytes": lambda T: [b"a", b"b"],
    "arrays": lambda T: [numpy.arange(3.0), numpy.zeros(3)],
    "array scalars": lambda T: [numpy.float32(1), numpy.float32(2)],
    "array bools": lambda T: [numpy.bool_(True), numpy.bool_(False)],
    "array of strings": lambda T: [numpy.array(["a"])] * 2,
    "dicts": lambda T: [{"a": 1, "b": [2, 3]}, {"a": 4, "b": [5, 6]}],
    "ordered": lambda T: [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
    "default dicts": lambda T: [collections.defaultdict(int, a=1)] * 2,
    "missing key": lambda T: [{"a": 1}, {"b": 2}],
    "named tuples": lambda T: [Point(1, T.ones(2)), Point(2, T.zeros(2))],
    "tuples": lambda T: [(1, "a"), (2, "b")],
    "lists": lambda T: [[1, 2.5], [3, 4.5]],
    "ranges": lambda T: [range(3), range(3)],
    "ragged lists": lambda T: [[1], [2, 3]],
    "user lists": lambda T: [collections.UserList([1, 2]), collections.UserList([3, 4])],
    "nothing": lambda T: [None, None],
    "objects": lambda T: [object()],
    "sets": lambda T: [{1}, {2}],
    "no samples": lambda T: [],
}


@pytest.mark.parametrize("name", BATCHES)
def test_collation(name: str) -> None:
    assert_alike(lambda framework, data: data.default_collate(BATCHES[name](framework)))


@pytest.mark.parametrize("name", BATCHES)
def test_conversion(name: str) -> None:
    if name in ("nothing", "objects", "sets"):
        made = BATCHES[name](thunk)
        assert thunk.utils.data.default_convert(made) == made
        return
    assert_alike(lambda framework, data: data.default_convert(BATCHES[name](framework)))


def test_own_collation_rules() -> None:
    def program(framework: Any, data: Any) -> Any:
        rules = data._utils.collate.default_collate_fn_map
        kept = dict(rules)
        rules.update({framework.Tensor: lambda batch, *, collate_fn_map=None: len(batch)})
        rules[set] = lambda batch, *, collate_fn_map=None: sorted(set.union(*batch))
        try:
            dataset = data.TensorDataset(framework.ones(4, 2))
            return data.default_collate([{1}, {2}]), list(data.DataLoader(dataset, batch_size=3))
        finally:
            rules.clear()
            rules.update(kept)

    assert_alike(program)


MISUSE: dict[str, Callable[[Any, Any], Any]] = {
    "workers": lambda T, D: D.DataLoader([1], num_workers=-1),
    "timeout": lambda T, D: D.DataLoader([1], timeout=-1),
    "timeout here": lambda T, D: iter(D.DataLoader([1], timeout=1)),
    "prefetch": lambda T, D: D.DataLoader([1], prefetch_factor=2),
    "negative prefetch": lambda T, D: D.DataLoader([1], num_workers=1, prefetch_factor=-1),
    "persistence": lambda T, D: D.DataLoader([1], persistent_workers=True),
    "context here": lambda T, D: D.DataLoader([1], multiprocessing_context="fork"),
    "context name": lambda T, D: D.DataLoader([1], num_workers=1, multiprocessing_context="x"),
    "context type": lambda T, D: D.DataLoader([1], num_workers=1, multiprocessing_context=3),
    "sampler and shuffle": lambda T, D: D.DataLoader([1], shuffle=True, sampler=[0]),
    "batches and size": lambda T, D: D.DataLoader([1], batch_size=2, batch_sampler=[[0]]),
    "batches and shuffle": lambda T, D: D.DataLoader([1], shuffle=True, batch_sampler=[[0]]),
    "batches and drop": lambda T, D: D.DataLoader([1], drop_last=True, batch_sampler=[[0]]),
    "no batches, drop": lambda T, D: D.DataLoader([1], batch_size=None, drop_last=True),
    "batch of zero": lambda T, D: D.DataLoader([1], batch_size=0),
    "empty shuffled": lambda T, D: D.DataLoader([], shuffle=True),
    "stream shuffled": lambda T, D: D.DataLoader(stream(T), shuffle=True),
    "stream sampled": lambda T, D: D.DataLoader(stream(T), sampler=[0]),
    "stream batched": lambda T, D: D.DataLoader(stream(T), batch_sampler=[[0]]),
    "stream length": lambda T, D: len(D.DataLoader(stream(T))),
    "late batch size": lambda T, D: setattr(D.DataLoader([1]), "batch_size", 2),
    "late workers": lambda T, D: setattr(D.DataLoader([1]), "num_workers", 0),
    "late dataset": lambda T, D: setattr(D.DataLoader([1]), "dataset", [2]),
    "beyond": lambda T, D: list(D.DataLoader([1, 2], sampler=[0, 5])),
    "beyond tensors": lambda T, D: list(D.DataLoader(D.TensorDataset(T.ones(2)), sampler=[7])),
    "uneven tensors": lambda T, D: D.TensorDataset(T.ones(2), T.ones(3)),
    "stack of nothing": lambda T, D: D.StackDataset(),
    "stack of both": lambda T, D: D.StackDataset([1], a=[1]),
    "uneven stack": lambda T, D: D.StackDataset([1], [1, 2]),
    "concat of nothing": lambda T, D: D.ConcatDataset([]),
    "concat of streams": lambda T, D: D.ConcatDataset([stream(T)]),
    "concat far": lambda T, D: D.ConcatDataset([[1], [2]])[-3],
    "chain of lists": lambda T, D: list(D.ChainDataset([[1]])),
    "no item": lambda T, D: D.Dataset()[0],
    "replacement": lambda T, D: D.RandomSampler([1], replacement=1),
    "no samples": lambda T, D: D.RandomSampler([1], num_samples=0),
    "weights": lambda T, D: D.WeightedRandomSampler([[1.0]], 1),
    "weighted number": lambda T, D: D.WeightedRandomSampler([1.0], True),
    "weighted replacement": lambda T, D: D.WeightedRandomSampler([1.0], 1, replacement=1),
    "drop": lambda T, D: D.BatchSampler([1], 1, 1),
    "rank": lambda T, D: D.DistributedSampler([1], 2, 2),
    "pickled iterator": lambda T, D: __import__("pickle").dumps(iter(D.DataLoader([1]))),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_raises_alike(name: str) -> None:
    found = assert_alike(MISUSE[name])
    assert isinstance(found, str) or name == "late workers"


DATASETS: dict[str, Callable[[Any, Any], Any]] = {
    "stack": lambda T, D: list(D.DataLoader(D.StackDataset(range(5), Squares(T, 5)), 2)),
    "named stack": lambda T, D: list(D.DataLoader(D.StackDataset(a=range(5), b=range(5)), 2)),
    "concat": lambda T, D: [D.ConcatDataset([range(3), range(5, 9)])[i] for i in (0, 3, 6, -1, -7)],
    "sum": lambda T, D: list(D.TensorDataset(T.ones(2)) + D.TensorDataset(T.zeros(3))),
    "chain": lambda T, D: list(stream(T) + stream(T)),
    "chain length": lambda T, D: len(stream(T, announced=3) + stream(T, announced=4)),
    "subset of list": lambda T, D: D.Subset(D.TensorDataset(T.arange(9)), [4, 5, 6])[[0, 2]],
    "subset of subset": lambda T, D: list(D.Subset(D.Subset(range(9), [3, 4, 5]), [2, 0])),
}


@pytest.mark.parametrize("name", DATASETS)
def test_datasets(name: str) -> None:
    assert not isinstance(assert_alike(DATASETS[name]), str)


def test_the_public_names_are_torchs() -> None:
    left_out = {
        "DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "argument_validation",
        "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic",
        "runtime_validation", "runtime_validation_disabled",
    }  # fmt: skip
    missing = set(torch.utils.data.__all__) - set(thunk.utils.data.__all__)
    assert missing == left_out
