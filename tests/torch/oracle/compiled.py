"""Samples of the database recorded lazily, many of an operator in one compiled program.

In: a `Case` and one of `CHECKS`. Out: a `Tally`: how many samples are right, how many ran without
a call back, what called back, and the first lines on what differs.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from thunk.lazy.eager import execution

from .backends import Counted, Observer, Watched
from .catalog import Entry
from .checks import arbiter, draws_differ, mode_of, seeded, widen
from .compare import WIDER, Mismatch, leaves
from .compiled_known import excuse
from .convert import is_tensor, to_array
from .gradients import fill_missing, first_gradient, second_gradient
from .randomness import GAUGE
from .run import applicable
from .verdict import Case, describe, summary

CHECKS = ("forward", "strided", "gradient", "gradgrad")
BATCH = 24  # samples of one program
SHOWN = 4  # failures told in full

T = TypeVar("T")


@dataclass
class Tally:
    """What the samples of one entry, dtype and check came to."""

    entry: str
    family: str
    dtype: str
    check: str
    samples: int = 0
    right: int = 0
    clean: int = 0  # without a call back
    excused: int = 0  # without one that no reason is listed for
    called_back: Counter[str] = field(default_factory=Counter)
    at_once: Counter[str] = field(default_factory=Counter)
    outside: Counter[str] = field(default_factory=Counter)  # samples by what keeps them unclean
    failures: list[str] = field(default_factory=list)
    programs: int = 0
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return vars(self)


@dataclass
class Recorded:
    """One sample: torch's result, and the subject's, perhaps not computed yet."""

    label: str
    value: Any
    expected: Any
    actual: Any = None
    error: str | None = None


def checks_of(entry: Entry, dtype: torch.dtype) -> list[str]:
    """The checks that make sense for an entry in a dtype."""
    known = applicable(entry, dtype)
    return [check for check in CHECKS if check == "strided" or check in known]


def judge_compiled(case: Case, check: str) -> Tally:
    """Every chosen sample of a check, batch by batch."""
    tally = Tally(case.entry.full_name, case.entry.family, case.dtype_name, check)
    samples = case.chosen(case.samples(requires_grad=check in ("gradient", "gradgrad")))
    found = [expected_of(case, check, sample) for sample in samples]
    ready = [each for each in found if each is not None]
    tally.samples = len(ready)
    for batch in batches(ready):
        in_new_thread(_judge_batch, case, check, batch, tally)
    return tally


def batches(items: list[Recorded]) -> Iterator[list[Recorded]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def in_new_thread(function: Callable[..., T], *args: Any) -> T:
    """A thread has a trace of its own: nothing of earlier batches is pending or remembered."""
    found: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found.append(function(*args))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return found[0]


def expected_of(case: Case, check: str, sample: Any) -> Recorded | None:
    """torch's side of a sample; None where there is nothing to compare."""
    value = sample.value
    try:
        if draws_differ(case, value, case.theirs):
            return None
        return Recorded(sample.label, value,
                        derived(case, case.torch_subject, case.theirs, check, value))
    except Exception:  # torch refuses, or cannot be asked: the eager oracle judges refusals
        return None


def derived(case: Case, subject: Any, function: Any, check: str, value: Any) -> Any:
    """What the check compares, over one library."""
    if check == "gradient":
        return first_gradient(subject, function, value)
    if check == "gradgrad":
        return second_gradient(subject, function, value)
    inputs = value.noncontiguous() if check == "strided" else value
    return seeded(subject, function, case.arguments(inputs, subject))


def _judge_batch(case: Case, check: str, batch: list[Recorded], tally: Tally) -> None:
    with Watched() as observer:
        for each in batch:
            _record(case, check, each)
        failed = _computed(case, batch)
    if failed is not None:
        for each in batch:
            in_new_thread(_alone, case, check, each)
    tally.programs += observer.programs
    tally.called_back.update(observer.called_back)
    tally.at_once.update(observer.at_once)
    for each in batch:
        if each.error is None:
            _compare(case, check, each)
        tally.right += each.error is None
        if each.error is not None and len(tally.failures) < SHOWN:
            tally.failures.append(f"sample {each.label} {summary(each.value)}: {each.error}")
    _count_clean(case, check, batch, observer, tally)


def _record(case: Case, check: str, each: Recorded) -> None:
    """Record one sample; nothing is computed unless the operator asks for values."""
    ours = case.entry.function(case.subject)
    each.actual = each.error = None
    try:
        with warnings.catch_warnings(), execution(True):
            warnings.simplefilter("ignore")
            each.actual = derived(case, case.subject, ours, check, each.value)
    except Exception as error:  # whatever the subject raises is its verdict
        each.error = describe(error)


def _computed(case: Case, batch: list[Recorded]) -> Exception | None:
    """Read one value, which computes everything recorded; the reason if that fails."""
    for each in batch:
        for item in leaves(each.actual):
            if is_tensor(case.subject, item):
                try:
                    to_array(case.subject, item)
                except Exception as error:
                    return error
    return None


def _alone(case: Case, check: str, each: Recorded) -> None:
    """The sample in a program of its own, so that a failure has its name."""
    with Watched():
        _record(case, check, each)
        failed = _computed(case, [each])
    if failed is not None:
        each.error = f"program: {describe(failed)}"


def _compare(case: Case, check: str, each: Recorded) -> None:
    comparison = case.comparison(mode=mode_of(case), arbiter=_arbiter(case, check, each))
    expected, actual = each.expected, each.actual
    try:
        if check in ("gradient", "gradgrad"):
            expected, actual = fill_missing(case.subject, expected, actual)
        elif case.entry.full_name in GAUGE:
            expected = each.value.output_process_fn_grad(expected)
            actual = case.subject.rebind(each.value.output_process_fn_grad)(actual)
        comparison.check(expected, actual)
    except Mismatch as mismatch:
        each.error = str(mismatch)


def _arbiter(case: Case, check: str, each: Recorded) -> Callable[[], Any] | None:
    """torch's result in double precision."""
    if check in ("forward", "strided"):
        return arbiter(case, each.value, case.theirs)
    if case.dtype not in WIDER:
        return None

    def precise() -> Any:
        wide = each.value.transform(widen)
        found = derived(case, case.torch_subject, case.theirs, check, wide)
        return [torch.zeros((), dtype=torch.float64) if item is None else item for item in found]

    return precise


def _count_clean(case: Case, check: str, batch: list[Recorded], observer: Observer,
                 tally: Tally) -> None:
    """How many samples run without a call back and without an operator run at once."""
    if not observer.called_back and not observer.at_once:
        tally.clean += len(batch)
        tally.excused += len(batch)
        return
    for each in batch:
        names = in_new_thread(_operators_outside, case, check, each)
        tally.clean += not names
        if names:
            tally.outside[" ".join(sorted(names))] += 1
        tally.excused += all(excuse(name) for name in names)


def _operators_outside(case: Case, check: str, each: Recorded) -> set[str]:
    """The operators of one sample that are not part of compiled code."""
    again = Recorded(each.label, each.value, None)
    with Counted() as observer:
        _record(case, check, again)
        failed = _computed(case, [again])
    if failed is not None:
        return {describe(failed)}
    return {*observer.called_back, *observer.at_once}
