"""Enters: nothing. Leaves: faults of lazy execution to plant: keys, aliases, memory, numbers.

Invariant: each is a mistake that a change of the engine could make, no crash by construction.
"""

from __future__ import annotations

from typing import Any

from fuzz.judge import LAZY
from fuzz.planted_kinds import Fault


def _no_mode(original: Any) -> Any:
    return lambda: ()


def _no_effect(original: Any) -> Any:
    return lambda *args, **kwargs: None


def _nothing_told(original: Any) -> Any:
    return lambda *args, **kwargs: True


def _shared_contents(original: Any) -> Any:
    return lambda self: self.data


def _shared_part(original: Any) -> Any:
    def changed(storage: Any, spec: Any) -> Any:
        itemsize = spec.dtype.itemsize
        return storage.data[spec.offset * itemsize : spec.extent() * itemsize]

    return changed


def _replaced_contents(original: Any) -> Any:
    def changed(self: Any, data: Any) -> None:
        self._data = data

    return changed


def _numbers_of_the_first_run(original: Any) -> Any:
    first: dict[int, Any] = {}

    def changed(self: Any, inputs: Any, numbers: Any) -> Any:
        return original(self, inputs, first.setdefault(id(self), list(numbers)))

    return changed


def _one_kind(original: Any) -> Any:
    return lambda value: float


def _unseen_write(original: Any) -> Any:
    def changed(trace: Any, target: Any, *rest: Any) -> None:
        original(trace, target, *rest)
        target._versions.value -= 1

    return changed


def _unchecked_value(original: Any) -> Any:
    def changed(self: Any, node: Any) -> Any:
        self.version = self.versions.value
        return original(self, node)

    return changed


def _second_argument(original: Any) -> Any:
    return lambda first, second, *rest: second


def _twice(original: Any) -> Any:
    def changed(*args: Any) -> Any:
        original(*args)
        return original(*args)

    return changed


FAULTS_OF_LAZY: tuple[Fault, ...] = (
    Fault("mode missing from the path", LAZY, (("thunk.lazy.trace.mode_token", _no_mode),)),
    Fault("aliases not derived again", LAZY,
          (("thunk.lazy.inplace._aliases_are_stale", _nothing_told),)),
    Fault("foreign memory not copied for pending reads", LAZY,
          (("thunk.runtime.storage.Storage.snapshot", _shared_contents),
           ("thunk.lazy.trace.copy_of", _shared_part))),
    Fault("writes do not reach foreign memory", LAZY,
          (("thunk.runtime.storage.Storage.receive", _replaced_contents),)),
    Fault("number frozen as a constant", LAZY,
          (("thunk.lazy.compiled.Computation.run", _numbers_of_the_first_run),)),
    Fault("kinds of numbers not told apart", LAZY, (("thunk.lazy.record.plain_kind", _one_kind),)),
    Fault("pending write not counted", LAZY, (("thunk.lazy.inplace.rebind", _unseen_write),)),
    Fault("overwritten value read by backward", LAZY,
          (("thunk.autograd.saved.SavedValue.unpack", _unchecked_value),)),
    Fault("flag of a pending tensor not seen", LAZY,
          (("thunk.lazy.trace.Trace.flag_changed", _no_effect),)),
    Fault("hooks of pending results skipped", LAZY,
          (("thunk.autograd.engine.run_tensor_hooks", _second_argument),)),
    Fault("gradient of a pending pass accumulated twice", LAZY,
          (("thunk.autograd.edges.accumulate", _twice),)),
)  # fmt: skip
