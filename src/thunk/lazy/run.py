"""Enters: a cut that was launched. Leaves: `Run`: its results filled, or the failure told once.

Invariant: whoever looks at memory that a run fills waits for it here. After a failure everything
that does not depend on the failed operation has its value; memory that existed before holds what
it held before the run; all other results stay spoilt and say why when they are looked at.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from thunk.base.errors import recorded_at, where_recorded
from thunk.lazy.metrics import count
from thunk.lazy.rescue import Spoilt, rescue
from thunk.runtime.launch import DependentFailure, Launch
from thunk.runtime.storage import Bytes, Storage


class Run:
    """One run of a plan that nobody waited for.

    It keeps what a rescue needs until its end was seen: inputs, numbers, the storages it writes.
    """

    __slots__ = (
        "__weakref__", "computation", "error", "inputs", "kept", "launch", "leaves", "numbers",
        "outputs", "spoilt", "storages", "stored",
    )  # fmt: skip

    def __init__(
        self, computation: Any, inputs: Sequence[Bytes], numbers: Sequence[Any]
    ) -> None:
        self.computation = computation
        self.inputs = inputs
        self.numbers = numbers
        self.launch: Launch | None = None
        self.outputs: list[Bytes] = []
        self.leaves: Sequence[Bytes] = ()
        self.storages: Sequence[Storage] = ()
        self.stored: Sequence[tuple[int, int, int]] = ()  # which storage, output and leaf
        self.error: BaseException | None = None
        self.spoilt: dict[int, BaseException] = {}  # outputs that have no value, and why
        self.kept: set[int] = set()  # of these, whose memory holds what it held before

    def settle(self, storage: Storage) -> None:
        """Return when `storage` is filled; raise what went wrong if it never will be."""
        self.finish()
        inflight.check()
        if storage.launch is not self:
            return
        memory = storage._data
        for position, error in self.spoilt.items():
            if self.outputs[position] is memory:
                raise never_computed(error)
        storage.launch = None

    def finish(self) -> bool:
        """Return when the run is over, and whether it succeeded; a failure waits for `check`."""
        launch = self.launch
        if launch is not None:
            try:
                launch.wait()
            except Exception as error:
                if launch.error is None:
                    raise
                self.error = error
            inflight.sweep()
        return self.error is None

    def forget(self) -> None:
        """It ended well."""
        self.launch = None
        self.outputs = []
        self.inputs = self.numbers = self.storages = self.stored = self.leaves = ()


def never_computed(error: BaseException) -> DependentFailure:
    """What to raise where a value is asked for that a failure left out."""
    made = DependentFailure(
        f"expected a value, got a result of a run that failed: {error}; compute it again"
    )
    made.__cause__ = error
    recorded_at(made, where_recorded(error))
    return made


class InFlight:
    """The runs whose end was not seen, and failures that nobody was told of."""

    def __init__(self) -> None:
        self.runs: deque[Run] = deque()
        self.untold: deque[BaseException] = deque(maxlen=16)
        self._lock = threading.RLock()
        self._spoilt: dict[int, tuple[weakref.ref[Bytes], BaseException]] = {}

    def add(self, run: Run) -> None:
        """A run was started, or failed before it could be."""
        self.runs.append(run)
        if len(self.runs) > 1:
            self.sweep()

    def sweep(self) -> None:
        """Let go of the oldest runs that ended well."""
        runs = self.runs
        if not self._lock.acquire(False):
            return
        try:
            while runs:
                launch = runs[0].launch
                if launch is None or launch.error is not None or not launch.done():
                    return
                if launch.error is not None:
                    return
                runs.popleft().forget()
        finally:
            self._lock.release()

    @property
    def has_failed(self) -> bool:
        """Whether a failure was seen and not dealt with."""
        return any(each.launch is None or each.launch.error is not None for each in self.runs)

    def check(self) -> None:
        """Deal with failures that were seen; raise the first that nobody was told of."""
        if self.runs and self.has_failed:
            self._recover()
        if self.untold:
            error = self.untold.popleft()
            self.untold.clear()
            raise error

    def drain(self) -> None:
        """Return when every run is over; failures wait for `check`."""
        for run in list(self.runs):
            run.finish()

    def wait(self) -> None:
        """Return when every run is over; raise the first failure that nobody was told of."""
        self.drain()
        self.check()

    def why_spoilt(self, memory: Bytes) -> BaseException | None:
        """Why memory has no value, None if it has one."""
        known = self._spoilt.get(id(memory))
        return known[1] if known is not None and known[0]() is memory else None

    def _recover(self) -> None:
        """Compute what failed runs left out, where that is possible."""
        with self._lock:
            self.drain()
            runs, self.runs = list(self.runs), deque()
            failed = []
            for run in runs:
                error = run.error if run.launch is None else run.launch.error
                if error is None:
                    run.forget()
                    continue
                run.error = error
                failed.append(run)
            for run in failed:
                self._rescue(run)
            for run in reversed(failed):
                self._take_back(run)
            for run in failed:
                if run.launch is not None:
                    run.launch.restore([at for at, each in enumerate(run.outputs)
                                        if self.why_spoilt(each) is None])  # fmt: skip
                run.launch = None
                run.inputs = run.numbers = run.storages = run.stored = run.leaves = ()

    def _rescue(self, run: Run) -> None:
        count("FailedRuns")
        assert run.error is not None
        if not isinstance(run.error, DependentFailure):
            self.untold.append(run.error)
        for position, result in enumerate(rescue(run, self.why_spoilt)):
            if isinstance(result, Spoilt):
                run.spoilt[position] = result.error
                if result.kept:
                    run.kept.add(position)
                self._spoil(run.outputs[position], result.error)

    def _spoil(self, memory: Bytes, error: BaseException) -> None:
        key = id(memory)
        self._spoilt[key] = (weakref.ref(memory, lambda _: self._spoilt.pop(key, None)), error)

    def _take_back(self, run: Run) -> None:
        """Storages that a failed run should have changed hold what they held before."""
        for index, position, leaf in run.stored:
            if position not in run.spoilt:
                continue
            storage, memory = run.storages[index], run.outputs[position]
            before = run.leaves[leaf] if leaf >= 0 else None
            if before is memory:
                if position not in run.kept:
                    self._spoil(memory, run.spoilt[position])
                    if storage._data is memory:
                        storage.launch = run
                    continue
                self._spoilt.pop(id(memory), None)
                del run.spoilt[position]
            elif storage._data is not memory or before is None or self.why_spoilt(before):
                continue
            if storage._data is memory:
                storage._data = before
                storage.launch = None


inflight: Final = InFlight()
