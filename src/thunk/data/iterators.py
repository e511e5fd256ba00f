"""Enters: a DataLoader. Leaves: the iterators of its epochs, in this process or with workers.

Invariant: indices are drawn in this process in sampler order; whatever the number of workers, items
come in that order unless `in_order=False`. Everything runs eagerly.
"""

from __future__ import annotations

import itertools
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from thunk.data.failure import ExceptionWrapper
from thunk.data.fetch import fetcher_for
from thunk.data.pool import WorkerPool
from thunk.data.sampler import drawn_seed
from thunk.data.worker import Plan, Resume, StreamEnd
from thunk.lazy.eager import eager

if TYPE_CHECKING:
    from thunk.data.dataloader import DataLoader


class BaseLoaderIterator:
    """What both kinds of iterators share: the indices, the seed of the epoch, the count."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader = loader
        self._dataset_kind = loader._dataset_kind
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._persistent_workers = loader.persistent_workers
        if loader.pin_memory:
            warnings.warn(
                "DataLoader: pin_memory=True has no effect, because there is no accelerator to "
                "copy to",
                stacklevel=4,
            )
        self._begin(loader)
        self._base_seed = drawn_seed(loader.generator)

    def _begin(self, loader: DataLoader[Any]) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._announced = loader._IterableDataset_len_called

    def __iter__(self) -> Any:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        with eager():
            item = self._next_data()
        self._num_yielded += 1
        if self._announced is not None and self._num_yielded > self._announced:
            self._warn_of_surplus()
        return item

    def _next_data(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: expected _next_data, got none")

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _warn_of_surplus(self) -> None:
        hint = "; give every worker its part with get_worker_info()" if self._num_workers else ""
        warnings.warn(
            f"DataLoader: Length of IterableDataset {self._loader.dataset} was reported to be "
            f"{self._announced}, but {self._num_yielded} samples have been fetched{hint}",
            stacklevel=3,
        )

    def __getstate__(self) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} cannot be pickled; pickle the DataLoader instead"
        )


class SingleProcessIterator(BaseLoaderIterator):
    """Reads the dataset when an item is asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError(
                f"DataLoader: expected timeout=0 without workers, got {loader.timeout}"
            )
        self._fetcher = fetcher_for(
            self._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn,
            loader.drop_last,
        )  # fmt: skip

    def _next_data(self) -> Any:
        return self._fetcher.fetch(self._next_index())


class MultiProcessIterator(BaseLoaderIterator):
    """Keeps workers busy with the next indices and hands their answers out."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if not loader.prefetch_factor:
            raise AssertionError(
                f"DataLoader: expected prefetch_factor > 0, got {loader.prefetch_factor}"
            )
        self._capacity = loader.prefetch_factor * loader.num_workers
        self._in_order = loader.in_order
        self._timeout = loader.timeout
        plan = Plan(
            self._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn,
            loader.drop_last, self._base_seed, loader.worker_init_fn, loader.num_workers,
        )  # fmt: skip
        self._pool = WorkerPool(plan, loader.multiprocessing_context)
        # Not `__del__`: where the iterator is part of a cycle, its sockets could be gone by then.
        # At the end of the interpreter, workers are ended with all other daemons.
        weakref.finalize(self, self._pool.close).atexit = False
        self._prime()

    @property
    def _workers(self) -> list[Any]:
        return self._pool.processes

    def _prime(self) -> None:
        """Forget the last epoch and send the first tasks of this one."""
        self._sent = 0
        self._next = 0
        self._tasks: dict[int, int] = {}  # number of a task not handed out yet: its worker
        self._early: dict[int, Any] = {}  # answers that came before their turn
        self._streaming = [True] * self._num_workers
        self._loads = [0] * self._num_workers
        self._turns = itertools.cycle(range(self._num_workers))
        for _ in range(self._capacity):
            self._send_next()

    def restart(self, loader: DataLoader[Any]) -> None:
        """Begin another epoch with the same workers."""
        self._begin(loader)
        for number in range(self._num_workers):
            self._pool.send(number, Resume())
        waiting = self._num_workers
        while waiting:
            _, (_, answer) = self._pool.receive(self._timeout)
            waiting -= isinstance(answer, Resume)
        self._prime()

    def _free_worker(self) -> int | None:
        """The next worker in turn that still reads and, out of order, has room."""
        reading = sum(self._streaming)
        for _ in range(self._num_workers):
            number = next(self._turns)
            if self._streaming[number] and (
                self._in_order or self._loads[number] < self._capacity // reading
            ):
                return number
        return None

    def _send_next(self) -> None:
        try:
            index = self._next_index()
        except StopIteration:
            return
        number = self._free_worker()
        if number is None:
            return
        self._pool.send(number, (self._sent, index))
        self._tasks[self._sent] = number
        self._loads[number] += 1
        self._sent += 1

    def _expected(self) -> bool:
        """Whether an item is still to come; steps over tasks whose worker ran out of samples."""
        while self._next < self._sent:
            owner = self._tasks.get(self._next)
            if owner is not None and (self._next in self._early or self._streaming[owner]):
                return True
            self._tasks.pop(self._next, None)
            self._next += 1
        return False

    def _next_data(self) -> Any:
        while self._expected():
            if self._next in self._early:
                return self._hand_out(self._next, self._early.pop(self._next))
            worker, (task, answer) = self._pool.receive(self._timeout)
            if isinstance(answer, StreamEnd):
                self._streaming[worker] = False
                if not self._persistent_workers:
                    self._pool.retire(worker)
                self._send_next()
            elif task != self._next and self._in_order:
                self._early[task] = answer
            else:
                return self._hand_out(task, answer)
        if not self._persistent_workers:
            self._pool.close()
        raise StopIteration

    def _hand_out(self, task: int, answer: Any) -> Any:
        self._loads[self._tasks.pop(task)] -= 1
        if task == self._next:
            self._next += 1
        self._send_next()
        if isinstance(answer, ExceptionWrapper):
            answer.reraise()
        return answer

    def _shutdown_workers(self) -> None:
        self._pool.close()


def iterator_for(loader: DataLoader[Any]) -> BaseLoaderIterator:
    """A new iterator: over workers if the loader has any."""
    with eager():
        if loader.num_workers == 0:
            return SingleProcessIterator(loader)
        return MultiProcessIterator(loader)
