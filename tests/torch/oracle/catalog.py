"""The entries of torch's operator database, named, grouped, and with their samples.

In: `op_db`. Out: `Entry` objects; each knows its name on the subject, its family, the reason it
is outside this oracle (if any), its dtypes and its samples, always in the same order.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .families import family_of, outside_reason
from .subject import Subject

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

# Entries whose torch callable is a wrapper: what the subject must have for the wrapper to run.
REQUIRED_NAMES = {
    "cauchy": "Tensor.cauchy_",
    "exponential": "Tensor.exponential_",
    "geometric": "Tensor.geometric_",
    "log_normal": "Tensor.log_normal_",
    "normal.in_place": "Tensor.normal_",
    "uniform": "Tensor.uniform_",
}
MAIN_DTYPES = (torch.float32, torch.float64)
OTHER_DTYPES = (torch.int64, torch.bool, torch.complex128, torch.bfloat16)
REFERENCE_LIMIT = 600


@dataclass(frozen=True)
class Sample:
    """A sample with the label that finds it again: `3`, or `r3` among the reference inputs."""

    label: str
    value: Any


class Entry:
    """One entry of the database."""

    def __init__(self, info: Any) -> None:
        self.info = info
        self.name: str = info.name
        self.full_name: str = info.full_name
        self.family = family_of(info)
        self.outside = outside_reason(info)

    @property
    def required(self) -> str:
        """The dotted name the subject must have."""
        explicit = REQUIRED_NAMES.get(self.full_name) or REQUIRED_NAMES.get(self.name)
        if explicit is not None:
            return explicit
        return self.name if _torch_has(self.name) else f"Tensor.{self.name}"

    def function(self, subject: Subject) -> Any:
        """The subject's callable for the plain function form."""
        required = subject.resolve(self.required)
        if subject.is_reference:
            return subject.rebind(self.info.op)
        if _torch_has(self.name) and _torch_get(self.name) is self.info.op:
            return required
        return subject.rebind(self.info.op)

    def dtypes(self) -> list[torch.dtype]:
        """float32 and float64 where supported, otherwise one dtype that is."""
        main = [dtype for dtype in MAIN_DTYPES if dtype in self.info.dtypes]
        if main:
            return main
        return [dtype for dtype in OTHER_DTYPES if dtype in self.info.dtypes][:1]

    def samples(self, dtype: torch.dtype, requires_grad: bool = False,
                reference: bool = False) -> list[Sample]:
        """The samples, or the extended reference inputs."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(self._generate(dtype, requires_grad, reference))

    def _generate(self, dtype: torch.dtype, requires_grad: bool,
                  reference: bool) -> Iterator[Sample]:
        seed_everything()
        if reference:
            values = self.info.reference_inputs("cpu", dtype, requires_grad)
        else:
            values = self.info.sample_inputs("cpu", dtype, requires_grad)
        prefix = "r" if reference else ""
        limit = REFERENCE_LIMIT if reference else None
        for index, value in enumerate(itertools.islice(values, limit)):
            yield Sample(f"{prefix}{index}", value)

    def error_samples(self) -> list[Sample]:
        if self.info.error_inputs_func is None:
            return []
        seed_everything()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [Sample(str(index), value)
                    for index, value in enumerate(self.info.error_inputs("cpu"))]

    def tolerances(self, subject_dtype: torch.dtype) -> dict[str, tuple[float, float]]:
        """The widest (rtol, atol) the database itself grants, by dtype name."""
        widest: dict[str, tuple[float, float]] = {}
        for decorator in self.info.decorators:
            for table in _override_tables(decorator):
                for dtype, (rtol, atol) in table.items():
                    name = str(dtype).removeprefix("torch.")
                    old = widest.get(name, (0.0, 0.0))
                    widest[name] = (max(old[0], rtol), max(old[1], atol))
        return widest


def _override_tables(decorator: Any) -> Iterator[dict[torch.dtype, tuple[float, float]]]:
    if getattr(decorator, "device_type", None) not in (None, "cpu"):
        return
    for inner in getattr(decorator, "decorators", [decorator]):
        table = getattr(inner, "d", None)
        if isinstance(table, dict):
            yield {dtype: (value.rtol, value.atol) if hasattr(value, "rtol") else (0.0, value)
                   for dtype, value in table.items()}


def spread(samples: list[Sample], most: int | None) -> list[Sample]:
    """At most `most` samples, in order, of as many kinds as fit, evenly within each kind."""
    if most is None or len(samples) <= most:
        return samples
    kinds: dict[Any, list[int]] = {}
    for position, sample in enumerate(samples):
        kinds.setdefault(kind_of(sample.value), []).append(position)
    share = max(1, most // len(kinds))
    queues = [evenly(positions, share) + positions for positions in kinds.values()]
    chosen: dict[int, None] = {}
    for turn in itertools.zip_longest(*queues):
        for position in turn:
            if position is not None and len(chosen) < most:
                chosen.setdefault(position)
    return [samples[position] for position in sorted(chosen)]


def evenly(positions: list[int], count: int) -> list[int]:
    picks = np.linspace(0, len(positions) - 1, min(count, len(positions))).round().astype(int)
    return [positions[pick] for pick in picks]


def kind_of(value: Any) -> Any:
    """What makes a sample special: emptiness, 0-dim, strides, Python numbers, options."""
    inner = getattr(value, "sample_input", value)
    return (_kind(inner.input), tuple(_kind(item) for item in inner.args),
            tuple((key, _kind(item)) for key, item in inner.kwargs.items()))


def _kind(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            return "layout"
        if value.numel() == 0:
            return "empty"
        if value.dim() == 0:
            return "scalar"
        return "contiguous" if value.is_contiguous() else "strided"
    if isinstance(value, list | tuple):
        return type(value).__name__
    if isinstance(value, int | float) and not isinstance(value, bool):
        return type(value).__name__, value < 0
    return value if isinstance(value, str | bool | None) else type(value).__name__


def seed_everything() -> None:
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)


def _torch_has(path: str) -> bool:
    return _torch_get(path) is not None


def _torch_get(path: str) -> Any:
    found: Any = torch
    for part in path.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


@functools.cache
def entries() -> tuple[Entry, ...]:
    return tuple(Entry(info) for info in op_db)


def select(ops: list[str], names: str | None, families: list[str]) -> list[Entry]:
    """Entries by exact name (with or without variant), by pattern and by family."""
    chosen = []
    for entry in entries():
        if ops and entry.full_name not in ops and entry.name not in ops:
            continue
        if names is not None and not re.search(names, entry.full_name):
            continue
        if families and entry.family not in families:
            continue
        chosen.append(entry)
    return chosen
