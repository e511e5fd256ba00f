"""Enters: faults, planted one at a time. Leaves: after how many programs each is found.

Invariant: a fault replaces one function of the library and is taken out again; one that can no
longer be planted is an error, so that this proof cannot fade away.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from fuzz.generate import generate
from fuzz.judge import EAGER, judge
from fuzz.lanes import leave_shared_lane
from fuzz.planted_kinds import Fault
from fuzz.planted_lazy import FAULTS_OF_LAZY


@contextmanager
def plant(fault: Fault) -> Iterator[None]:
    """The library with the fault in it; every trie starts anew before and after."""
    with ExitStack() as stack:
        stack.callback(leave_shared_lane)
        leave_shared_lane()
        for place, make in fault.places:
            owner, name = _find(place)
            original = owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name)
            setattr(owner, name, make(original))
            stack.callback(setattr, owner, name, original)
        yield


def _find(place: str) -> tuple[Any, str]:
    """The module or class that holds a dotted name, and the last part of the name."""
    parts = place.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            owner = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:-1]:
            owner = getattr(owner, part)
        if not hasattr(owner, parts[-1]):
            break
        return owner, parts[-1]
    raise LookupError(f"planted: expected {place} in the library, got nothing to replace")


def find(fault: Fault, first: int, most: int) -> int:
    """How many programs it takes to find a fault; 0 if `most` do not.

    What fails without the fault too is no finding.
    """
    count = 0
    while count < most:
        with plant(fault):
            while count < most:
                count += 1
                if judge(generate(first + count), fault.modes) is not None:
                    break
            else:
                return 0
        if judge(generate(first + count), fault.modes) is None:
            return count
    return 0


def main(first: int, most: int) -> int:
    """Look for every fault and say how long each stood."""
    missed = 0
    for fault in (*FAULTS, *FAULTS_OF_LAZY):
        count = find(fault, first, most)
        missed += not count
        print(f"{fault.name:40} {'found by program ' + str(count) if count else 'NOT FOUND'}",
              flush=True)  # fmt: skip
    return 1 if missed else 0


def _twice(original: Any) -> Any:
    def changed(*args: Any) -> Any:
        original(*args)
        return original(*args)

    return changed


def _nothing(original: Any) -> Any:
    return lambda *args, **kwargs: None


def _second_argument(original: Any) -> Any:
    return lambda first, second, *rest: second


def _first_argument(original: Any) -> Any:
    return lambda first, *rest: first


def _unseen_write(original: Any) -> Any:
    def changed(target: Any, result: Any) -> None:
        original(target, result)
        target._versions.value -= 1

    return changed


def _unchecked_value(original: Any) -> Any:
    def changed(self: Any, node: Any) -> Any:
        self.version = self.versions.value
        return original(self, node)

    return changed


def _wrong_strides(original: Any) -> Any:
    def changed(source: Any, window: Any) -> Any:
        shown = original(source, window)
        square = len(window.shape) == 2 and window.shape[0] == window.shape[1]
        return shown.t() if square else shown

    return changed


def _detach_copies(original: Any) -> Any:
    def changed(source: Any, spec: Any, op: Any, several: bool) -> Any:
        view = original(source, spec, op, several)
        return view.clone() if op.name == "detach" else view

    return changed


def _unmarked_view(original: Any) -> Any:
    def changed(view: Any, source: Any) -> None:
        original(view, source)
        view._history.creation = ""

    return changed


def _without_late_hooks(original: Any) -> Any:
    def changed(self: Any, grads: Any) -> Any:
        history = self.variable._history
        hooks, history.post_accumulate_hooks = history.post_accumulate_hooks, None
        try:
            return original(self, grads)
        finally:
            history.post_accumulate_hooks = hooks

    return changed


def _constant_gradients(original: Any) -> Any:
    return lambda *args: original(False)


def _copied_array(original: Any) -> Any:
    return lambda array: original(array.copy())


def _always_granted(original: Any) -> Any:
    return lambda *args: None


FAULTS: tuple[Fault, ...] = (
    Fault("gradient accumulated twice", (EAGER,),
          (("thunk.autograd.edges.accumulate", _twice),)),
    Fault("write not counted", (EAGER,), (("thunk.autograd.inplace.write", _unseen_write),)),
    Fault("saved value not checked", (EAGER,),
          (("thunk.autograd.saved.SavedValue.unpack", _unchecked_value),)),
    Fault("hooks of results skipped", (EAGER,),
          (("thunk.autograd.engine.run_tensor_hooks", _second_argument),)),
    Fault("window of a gradient transposed", (EAGER,),
          (("thunk.autograd.inplace.read_window", _wrong_strides),)),
    Fault("detach copies", (EAGER,), (("thunk.autograd.views._window", _detach_copies),)),
    Fault("view made without gradients not marked", (EAGER,),
          (("thunk.autograd.views.mark_view", _unmarked_view),)),
    Fault("retained gradient lost at a write", (EAGER,),
          (("thunk.autograd.inplace.move_retained", _nothing),)),
    Fault("gradient of what was overwritten kept", (EAGER,),
          (("thunk.autograd.inplace.clear_window", _first_argument),)),
    Fault("hooks after accumulation skipped", (EAGER,),
          (("thunk.autograd.edges.AccumulateGrad.apply", _without_late_hooks),)),
    Fault("graph never freed", (EAGER,), (("thunk.autograd.record.OpNode.release", _nothing),)),
    Fault("create_graph ignored", (EAGER,),
          (("thunk.autograd.engine.no_grad_recording", _constant_gradients),)),
    Fault("array copied instead of shared", (EAGER,), (("thunk.from_numpy", _copied_array),)),
    Fault("writes to leaves allowed", (EAGER,),
          (("thunk.autograd.inplace.check_history", _always_granted),)),
    Fault("overlapping operands allowed", (EAGER,),
          (("thunk.autograd.inplace.refuse_self_overlap", _always_granted),)),
)  # fmt: skip
