"""Worker processes: their answers, their failures, their end; and nothing of them stays behind.

Datasets stand at the top of the module, so that spawned processes can import them.
"""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import thunk
from thunk.data import hooks
from thunk.dispatch.state import state
from thunk.lazy.eager import execution
from thunk.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

LARGE = 200_000  # elements: more than a message through a socket holds


class Squares(Dataset[Any]):
    def __init__(self, count: int = 8) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return thunk.tensor(index * index)


class Misbehaving(Squares):
    """Sample 3 does what the test is about."""

    def __init__(self, deed: str) -> None:
        super().__init__()
        self.deed = deed

    def __getitem__(self, index: int) -> Any:
        if index == 3:
            if self.deed == "raise":
                raise ValueError(f"sample {index} is broken")
            if self.deed == "raise key":
                raise KeyError("a\nb")
            if self.deed == "raise own":
                raise Unrepeatable(1, 2)
            if self.deed == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.deed == "exit":
                os._exit(7)
            if self.deed == "sleep":
                time.sleep(60)
            if self.deed == "unpicklable":
                return (lambda: index,)
        return super().__getitem__(index)


class Unrepeatable(Exception):
    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


class Facts(Dataset[Any]):
    """What a worker knows of the process it runs in."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        assert info is not None
        return {
            "id": info.id, "workers": info.num_workers, "seed": info.seed, "pid": os.getpid(),
            "same": int(info.dataset is self), "lazy": int(state.lazy),
            "threads": thunk.get_num_threads(), "torch": thunk.initial_seed(),
        }  # fmt: skip


class Large(Squares):
    def __getitem__(self, index: int) -> Any:
        return thunk.full((LARGE,), float(index)), thunk.tensor(index)


class Numbers(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, 10, step))


def as_is(samples: list[Any]) -> list[Any]:
    return samples


def values(loader: Any) -> list[Any]:
    return [batch.tolist() for batch in loader]


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_batches_come_in_order() -> None:
    expected = values(DataLoader(Squares(), batch_size=3))
    assert values(DataLoader(Squares(), batch_size=3, num_workers=2)) == expected
    assert values(DataLoader(Squares(), batch_size=3, num_workers=2, prefetch_factor=7)) == expected


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_batches_out_of_order_are_all_there() -> None:
    loader = DataLoader(Squares(30), num_workers=3, in_order=False)
    assert sorted(values(loader)) == [[index * index] for index in range(30)]


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_ways_to_start(context: str) -> None:
    loader = DataLoader(
        Large(3), num_workers=1, multiprocessing_context=context, generator=thunk.Generator()
    )
    found = [(rows[0, -1].item(), label.item()) for rows, label in loader]
    assert found == [(0, 0), (1, 1), (2, 2)]


def test_a_worker_knows_itself() -> None:
    generator = thunk.Generator().manual_seed(3)
    loader = DataLoader(Facts(), num_workers=2, generator=generator, collate_fn=as_is)
    found = [batch[0] for batch in loader]
    assert [facts["id"] for facts in found] == [0, 1, 0, 1]
    assert {facts["workers"] for facts in found} == {2}
    assert found[1]["seed"] == found[0]["seed"] + 1
    assert all(facts["torch"] == facts["seed"] for facts in found)
    assert all(facts["same"] and facts["threads"] == 1 and not facts["lazy"] for facts in found)
    assert os.getpid() not in {facts["pid"] for facts in found}
    assert get_worker_info() is None


def test_persistent_workers_stay() -> None:
    loader = DataLoader(Facts(), num_workers=2, collate_fn=as_is, persistent_workers=True)
    epochs = [[batch[0]["pid"] for batch in loader] for _ in range(3)]
    assert epochs[0] == epochs[1] == epochs[2]
    fresh = DataLoader(Facts(), num_workers=2, collate_fn=as_is)
    assert {b[0]["pid"] for b in fresh}.isdisjoint({b[0]["pid"] for b in fresh})


def test_persistent_workers_after_a_broken_epoch() -> None:
    loader = DataLoader(Squares(20), num_workers=2, persistent_workers=True)
    for batch in loader:
        if batch.item() == 9:
            break
    assert values(loader) == [[index * index] for index in range(20)]


@pytest.mark.parametrize(
    ("deed", "kind", "text"),
    [
        ("raise", ValueError, r"Caught ValueError in DataLoader worker process 1\.\nOriginal "
                              r"Traceback[\s\S]*in __getitem__[\s\S]*sample 3 is broken"),
        ("raise key", KeyError, r"Caught KeyError in DataLoader worker process 1\.\nOriginal"),
        ("raise own", RuntimeError, r"Caught Unrepeatable in DataLoader[\s\S]*1 and 2"),
        ("unpicklable", Exception, r"Caught \w+ in DataLoader worker process 1[\s\S]*lambda"),
    ],
)  # fmt: skip
def test_exceptions_come_back(deed: str, kind: type[Exception], text: str) -> None:
    loader = DataLoader(Misbehaving(deed), num_workers=2, collate_fn=as_is)
    iterator = iter(loader)
    assert [next(iterator)[0].item() for _ in range(3)] == [0, 1, 4]
    with pytest.raises(kind, match=text) as caught:
        next(iterator)
    assert type(caught.value) is kind or kind is Exception
    # The iteration can go on after the sample that failed.
    assert [batch[0].item() for batch in iterator] == [16, 25, 36, 49]


def test_the_trace_of_a_key_error_is_readable() -> None:
    iterator = iter(DataLoader(Misbehaving("raise key"), sampler=[3], num_workers=1))
    with pytest.raises(KeyError) as caught:
        next(iterator)
    assert "\n  File " in str(caught.value)


def broken_start(worker: int) -> None:
    raise ValueError(f"no start for {worker}")


def test_a_failing_worker_init_fn_is_reported() -> None:
    with pytest.raises(ValueError, match="no start for 0"):
        next(iter(DataLoader(Squares(), num_workers=1, worker_init_fn=broken_start)))


@pytest.mark.parametrize(
    ("deed", "text"),
    [("die", "is killed by signal: SIGKILL"), ("exit", "exited unexpectedly with exit code 7")],
)
def test_a_dead_worker_is_an_error(deed: str, text: str) -> None:
    iterator = iter(DataLoader(Misbehaving(deed), num_workers=2))
    with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid.* {text}"):
        list(iterator)
    iterator._shutdown_workers()


def test_a_deadline() -> None:
    iterator = iter(DataLoader(Misbehaving("sleep"), num_workers=1, sampler=[0, 3], timeout=0.3))
    assert next(iterator).item() == 0
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
        next(iterator)
    for process in iterator._workers:
        process.kill()


def test_prefetching_must_be_possible() -> None:
    with pytest.raises(AssertionError, match="expected prefetch_factor > 0"):
        iter(DataLoader(Squares(), num_workers=1, prefetch_factor=0))


def test_streams_are_shared_by_their_own_code() -> None:
    loader = DataLoader(Numbers(), batch_size=2, num_workers=2)
    assert values(loader) == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]


def test_many_indices_and_many_batches_at_once_do_not_block() -> None:
    """Both directions carry more than sockets hold."""
    indices = [[5] * 100_000] * 12
    loader = DataLoader(
        range(9), batch_sampler=indices, num_workers=1, prefetch_factor=12, collate_fn=len
    )
    assert list(loader) == [100_000] * 12


@linux
@pytest.mark.parametrize("options", [{}, {"persistent_workers": True}])
@pytest.mark.parametrize("taken", [0, 2, 100])
def test_nothing_stays_behind(options: dict[str, Any], taken: int) -> None:
    gc.collect()
    files, processes = open_files(), children()
    loader = DataLoader(Large(9), num_workers=2, **options)
    iterator = iter(loader)
    kept = [next(iterator) for _ in range(min(taken, 9))]
    del iterator, loader
    gc.collect()
    assert children() == processes
    assert open_files() == files
    assert [batch[1].item() for batch in kept] == list(range(len(kept)))


@linux
def test_iterators_in_cycles_end_their_workers() -> None:
    """The collector may finalise the sockets of a cycle before the iterator that uses them."""
    gc.collect()
    files, processes = open_files(), children()
    for _ in range(5):
        iterator = iter(DataLoader(Squares(), num_workers=1))
        cycle = {"pool": iterator._pool, "iterator": iterator}
        cycle["self"] = cycle
        iterator.cycle = cycle
        del iterator, cycle
        gc.collect()
    assert children() == processes
    assert open_files() == files


def test_a_fork_does_not_end_its_parents_workers() -> None:
    iterator = iter(DataLoader(Squares(), num_workers=1))
    assert next(iterator).item() == 0
    pid = os.fork()
    if not pid:
        iterator._shutdown_workers()
        del iterator
        gc.collect()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert [batch.item() for batch in iterator] == [index * index for index in range(1, 8)]


@linux
def test_workers_end_with_their_loader_whatever_kills_it(tmp_path: Path) -> None:
    script = tmp_path / "loader.py"
    script.write_text(
        "import os, signal\n"
        "from thunk.utils.data import DataLoader\n"
        "iterator = iter(DataLoader(list(range(9)), num_workers=2))\n"
        "next(iterator)\n"
        "print(*(process.pid for process in iterator._workers), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    reading, writing = os.pipe()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pid = os.posix_spawn(
        sys.executable, [sys.executable, str(script)], environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)],
    )  # fmt: skip
    os.close(writing)
    os.waitpid(pid, 0)
    # The pipe ends when the last process that can write to it is gone.
    with os.fdopen(reading) as output:
        assert re.fullmatch(r"\d+ \d+\n", output.read())


def test_hooks_run_before_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(hooks, "before_fork", [lambda: calls.append(os.getpid())])
    list(DataLoader(Squares(), num_workers=2))
    list(DataLoader(Squares()))
    assert calls == [os.getpid()]


@pytest.mark.parametrize("options", ["", ", persistent_workers=True"])
def test_a_program_may_end_while_workers_run(options: str) -> None:
    program = (
        "from thunk.utils.data import DataLoader\n"
        f"loader = DataLoader(list(range(99)), num_workers=2{options})\n"
        "iterator = iter(loader)\n"
        "print(next(iterator))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "tensor([0])\n", "")


def test_what_is_pending_is_computed_once_before_a_fork() -> None:
    with execution(lazy=True):
        rows = thunk.arange(6).reshape(3, 2) * 2
        assert rows._node is not None
        loader = DataLoader(TensorDataset(rows), num_workers=2)
        assert [batch[0].tolist() for batch in loader] == [[[0, 2]], [[4, 6]], [[8, 10]]]
        assert rows._node is None


@pytest.mark.parametrize("workers", [0, 2])
def test_loading_is_eager_in_a_lazy_program(workers: int) -> None:
    class Watching(Squares):
        def __getitem__(self, index: int) -> Any:
            assert not state.lazy
            return super().__getitem__(index) + 1

    with execution(lazy=True):
        loader = DataLoader(Watching(), batch_size=4, shuffle=True, num_workers=workers)
        batches = list(loader)
        assert state.lazy
    assert all(batch._node is None for batch in batches)
    assert sorted(itertools.chain(*values(batches))) == [index * index + 1 for index in range(8)]


def test_batches_are_ordinary_memory() -> None:
    """Writable, aligned, of the same dtype and strides, shared where they were shared."""
    tensors = [
        thunk.arange(LARGE).reshape(2, -1).t(),
        thunk.ones(3, dtype=thunk.bfloat16),
        thunk.ones(2, requires_grad=True),
        thunk.ones(0, 4),
        thunk.ones(1).expand(5),
    ]
    whole = thunk.arange(1000.0)
    batch: list[Any] = [*tensors, whole[3:5], whole[4:6], numpy.arange(LARGE), b"text"]
    (received,) = DataLoader([batch], batch_size=None, num_workers=1, collate_fn=as_is)
    for sent, got in zip(tensors, received):
        assert (got.dtype, got.shape, got.stride()) == (sent.dtype, sent.shape, sent.stride())
        assert got.requires_grad == sent.requires_grad
        assert got.data_ptr() % 64 == 0
        assert thunk.equal(got, sent)
    assert received[5].tolist() == [3, 4]
    assert received[5].untyped_storage().nbytes() == 8
    assert received[7].flags.writeable
    assert (received[7] == batch[7]).all()
    assert received[8] == b"text"
    received[0].add_(1)


def test_shared_memory_is_shared_again() -> None:
    row = thunk.zeros(4)
    (received,) = DataLoader([[row, row.view(2, 2), row]], batch_size=None, num_workers=1,
                             collate_fn=as_is)  # fmt: skip
    received[0][0] = 7
    assert received[1].tolist() == [[7, 0], [0, 0]]
    assert received[2] is received[0]


def test_a_tensor_dataset_is_gathered_in_workers_too() -> None:
    dataset = TensorDataset(thunk.arange(20).reshape(10, 2), thunk.arange(10))
    loader = DataLoader(dataset, batch_size=4, num_workers=2)
    assert [(rows.tolist(), labels.tolist()) for rows, labels in loader] == [
        (rows.tolist(), labels.tolist()) for rows, labels in DataLoader(dataset, batch_size=4)
    ]
