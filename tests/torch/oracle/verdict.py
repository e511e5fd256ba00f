"""One check of one entry in one dtype: how it is run over the samples, and what comes out.

In: a `Case` and a function judging one sample. Out: an `Outcome` with the first failure.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from .catalog import Entry, Sample, spread
from .compare import Comparison, Mismatch
from .convert import SkipSample, convert
from .outcome import FAIL, MISS, PASS, SKIP, Outcome
from .subject import MissingName, Subject, reference


@dataclass
class Case:
    """An entry in a dtype against a subject, and which of its samples are tried."""

    entry: Entry
    subject: Subject
    dtype: torch.dtype
    most: int | None
    only: str | None = None
    torch_subject: Subject = field(default_factory=reference)
    _samples: dict[tuple[bool, bool], list[Sample]] = field(default_factory=dict)

    @property
    def dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")

    @property
    def theirs(self) -> Any:
        """torch's callable of the plain function form."""
        return self.entry.function(self.torch_subject)

    def samples(self, requires_grad: bool = False, extended: bool = False) -> list[Sample]:
        """The entry's samples, made once for all checks: each judge copies what it uses."""
        key = (requires_grad, extended)
        if key not in self._samples:
            self._samples[key] = self.entry.samples(self.dtype, *key)
        return self._samples[key]

    def chosen(self, samples: list[Sample], most: int | None = None) -> list[Sample]:
        """The samples to try: the one asked for, or an even selection."""
        if self.only is not None:
            return [sample for sample in samples if sample.label == self.only]
        limits = [limit for limit in (self.most, most) if limit is not None]
        return spread(samples, min(limits) if limits else None)

    def comparison(self, **options: Any) -> Comparison:
        return Comparison(self.subject, self.entry.tolerances(self.dtype), **options)

    def arguments(self, value: Any, on: Subject) -> Any:
        """(input, args, kwargs) of a sample, fresh, over a subject."""
        return convert(on, (value.input, value.args, value.kwargs))

    def repeat_command(self, check: str, sample: str) -> str:
        text = (f"python -m tests.torch.oracle.run --op {self.entry.full_name} "
                f"--dtype {self.dtype_name} --check {check} --sample {sample}")
        return text if self.subject.name == "thunk" else f"{text} --subject {self.subject.name}"


Judge = Callable[[Case, Any, list[str]], None]


def judge_samples(case: Case, check: str, samples: Iterable[Sample], judge: Judge) -> Outcome:
    """Try every sample; stop at the first that is not right."""
    outcome = Outcome(case.entry.full_name, case.entry.family, case.dtype_name, check, PASS)
    skipped: list[str] = []
    for sample in samples:
        notes: list[str] = []
        try:
            judge(case, sample.value, notes)
        except SkipSample as reason:
            skipped.append(str(reason))
            continue
        except MissingName as missing:
            outcome.status = MISS
            outcome.detail = f"attr {missing.path}"
            return outcome
        except Mismatch as mismatch:
            return _failed(case, outcome, sample, str(mismatch))
        except Exception as error:  # whatever the subject raises is its verdict
            absent = missing_name(error)
            if absent is not None:
                outcome.status, outcome.detail = MISS, absent
                return outcome
            return _failed(case, outcome, sample, describe(error))
        outcome.samples += 1
        outcome.notes += [f"sample {sample.label}: {note}" for note in notes]
    if outcome.samples == 0:
        outcome.status = SKIP
        outcome.detail = "; ".join(sorted(set(skipped))) or "no samples"
    return outcome


def _failed(case: Case, outcome: Outcome, sample: Sample, reason: str) -> Outcome:
    outcome.status = FAIL
    value = getattr(sample.value, "sample_input", sample.value)
    outcome.detail = "\n".join([
        f"sample {sample.label}: {reason}",
        f"  {summary(value)}",
        f"  {case.repeat_command(outcome.check, sample.label)}",
    ])
    return outcome


def missing_name(error: Exception) -> str | None:
    """The name an AttributeError asks for: an operator not declared, or a public attribute."""
    if not isinstance(error, AttributeError):
        return None
    found = re.search(r"declared operator, got '(\w+)'", str(error))
    if found:
        return f"operator {found[1]}"
    found = re.search(r"(?:module|'Tensor'|\"Tensor\").* has no attribute '(\w+)'", str(error))
    return f"attr {found[1]}" if found else None


def describe(error: Exception) -> str:
    """Type, message and innermost place of an exception, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    outside = [frame for frame in frames if "/tests/torch/oracle/" not in frame.filename]
    place = ""
    if outside:
        last = outside[-1]
        place = f" at {'/'.join(last.filename.split('/')[-3:])}:{last.lineno}"
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message[:300]}{place}"


def summary(value: Any) -> str:
    """The arguments of a sample, tensors by dtype and shape."""
    parts = [_short(value.input), *(_short(item) for item in value.args)]
    parts += [f"{key}={_short(item)}" for key, item in value.kwargs.items()]
    return f"({', '.join(parts)})"[:400]


def _short(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        extra = ""
        if value.layout is torch.strided and not value.is_contiguous():
            extra = f" strides {value.stride()}"
        text = str(value.dtype).removeprefix("torch.")
        return f"{text}{list(value.shape)}{extra}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_short(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_short(item)}" for key, item in value.items()) + "}"
    return repr(value)[:60]
