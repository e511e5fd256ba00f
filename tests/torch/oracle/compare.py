"""Expected (torch) against actual (subject): structure, dtype, shape, values, strides.

In: two nests of results and a tolerance. Out: nothing, or `Mismatch` with the first difference.
Strides are reported as notes, not as mismatches. float32 results that miss the tolerance are
judged against float64: an error no larger than a few times torch's own is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from .convert import dtype_name, is_tensor, to_array
from .subject import Subject

# (rtol, atol) before the operator's own overrides.
TOLERANCES: dict[str, tuple[float, float]] = {
    "float64": (1e-7, 1e-7),
    "float32": (1e-5, 1e-5),
    "float16": (2e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "complex128": (1e-7, 1e-7),
    "complex64": (1e-5, 1e-5),
}
WIDER = {torch.float32: torch.float64, torch.complex64: torch.complex128}
# How much worse than torch's own rounding a single-precision result may be.
ERROR_RATIO = 4.0


class Mismatch(Exception):
    """The subject's result is not torch's."""


@dataclass
class Comparison:
    """What is compared beside values, and what was noticed without failing."""

    subject: Subject
    tolerance: dict[str, tuple[float, float]] = field(default_factory=dict)
    mode: str = "values"  # or "metadata": structure, shape and dtype only
    arbiter: Callable[[], Any] | None = None
    notes: list[str] = field(default_factory=list)

    def check(self, expected: Any, actual: Any) -> None:
        pairs = list(self._pairs(expected, actual, "result"))
        failures = []
        for path, left, right in pairs:
            failures += self._leaf(path, left, right)
        if not failures:
            return
        hard = [text for text, is_value in failures if not is_value]
        if hard:
            raise Mismatch(hard[0])
        if self.arbiter is None or not self._no_worse_than_torch(pairs):
            raise Mismatch(failures[0][0])
        self.notes.append("single precision judged against double")

    def _pairs(self, expected: Any, actual: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
        if isinstance(expected, dict):
            if not isinstance(actual, dict) or list(expected) != list(actual):
                raise Mismatch(f"{path}: expected keys {list(expected)}, got {actual!r:.80}")
            for key in expected:
                yield from self._pairs(expected[key], actual[key], f"{path}[{key!r}]")
            return
        if isinstance(expected, list | tuple) and not isinstance(expected, torch.Size):
            self._container(expected, actual, path)
            for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
                yield from self._pairs(left, right, f"{path}[{index}]")
            return
        yield path, expected, actual

    def _container(self, expected: Any, actual: Any, path: str) -> None:
        if not isinstance(actual, list | tuple):
            raise Mismatch(f"{path}: expected {len(expected)} results, got {type(actual).__name__}")
        if len(expected) != len(actual):
            raise Mismatch(f"{path}: expected {len(expected)} results, got {len(actual)}")
        fields = _field_names(expected)
        if fields and fields != _field_names(actual):
            raise Mismatch(f"{path}: expected fields {fields}, got {_field_names(actual)}")
        if isinstance(expected, list) != isinstance(actual, list):
            self.notes.append(f"{path}: expected {type(expected).__name__}, "
                              f"got {type(actual).__name__}")

    def _leaf(self, path: str, expected: Any, actual: Any) -> list[tuple[str, bool]]:
        """(message, whether only the values differ) of each difference of one result."""
        if isinstance(expected, torch.Tensor):
            return self._tensor(path, expected, actual)
        if is_tensor(self.subject, actual):
            return [(f"{path}: expected {expected!r:.60}, got a tensor", False)]
        if isinstance(expected, torch.dtype):
            same = dtype_name(expected) == dtype_name(actual)
        elif isinstance(expected, torch.Size):
            same = tuple(expected) == tuple(actual)
        elif isinstance(expected, bool) or expected is None:
            same = expected is actual
        elif isinstance(expected, int | float | complex):
            if type(expected) is not type(actual):
                return [(f"{path}: expected {expected!r}, got {actual!r}", False)]
            if self.mode == "metadata":
                return []
            same = bool(np.isclose(expected, actual, equal_nan=True, rtol=1e-5, atol=1e-8))
        else:
            same = str(expected).rsplit(".", 1)[-1] == str(actual).rsplit(".", 1)[-1]
        return [] if same else [(f"{path}: expected {expected!r:.80}, got {actual!r:.80}", False)]

    def _tensor(self, path: str, expected: torch.Tensor, actual: Any) -> list[tuple[str, bool]]:
        if not is_tensor(self.subject, actual):
            return [(f"{path}: expected a tensor, got {type(actual).__name__}", False)]
        if tuple(expected.shape) != tuple(actual.shape):
            return [(f"{path}: expected shape {tuple(expected.shape)}, "
                     f"got {tuple(actual.shape)}", False)]
        if dtype_name(expected.dtype) != dtype_name(actual.dtype):
            return [(f"{path}: expected dtype {dtype_name(expected.dtype)}, "
                     f"got {dtype_name(actual.dtype)}", False)]
        if expected.layout is not torch.strided or expected.device.type == "meta":
            return []
        self._strides(path, expected, actual)
        if self.mode == "metadata":
            return []
        left, right = to_array(self.subject, expected), to_array(self.subject, actual)
        difference = value_difference(left, right, self.limits(expected.dtype))
        return [] if difference is None else [(f"{path}: {difference}", True)]

    def _strides(self, path: str, expected: torch.Tensor, actual: Any) -> None:
        wanted = [s for s, n in zip(expected.stride(), expected.shape, strict=True) if n != 1]
        given = [s for s, n in zip(actual.stride(), actual.shape, strict=True) if n != 1]
        if expected.numel() and wanted != given:
            self.notes.append(f"{path}: strides expected {expected.stride()}, "
                              f"got {tuple(actual.stride())}")

    def limits(self, dtype: torch.dtype) -> tuple[float, float]:
        name = dtype_name(dtype)
        base = TOLERANCES.get(name, (0.0, 0.0))
        own = self.tolerance.get(name, (0.0, 0.0))
        return max(base[0], own[0]), max(base[1], own[1])

    def _no_worse_than_torch(self, pairs: list[tuple[str, Any, Any]]) -> bool:
        """Whether the error against double precision is about torch's own."""
        if self.arbiter is None or not any(
                isinstance(left, torch.Tensor) and left.dtype in WIDER for _, left, _ in pairs):
            return False
        try:
            precise = list(leaves(self.arbiter()))
        except Exception as error:  # no double-precision form of this sample: no arbitration
            self.notes.append(f"no arbiter: {type(error).__name__}")
            return False
        if len(precise) != len(pairs):
            return False
        return all(self._close_to_precise(wide, left, right)
                   for wide, (_, left, right) in zip(precise, pairs, strict=True))

    def _close_to_precise(self, wide: Any, expected: Any, actual: Any) -> bool:
        if not isinstance(expected, torch.Tensor):
            return True
        left, right = to_array(self.subject, expected), to_array(self.subject, actual)
        if value_difference(left, right, self.limits(expected.dtype)) is None:
            return True
        if expected.dtype not in WIDER or wide.dtype is not WIDER[expected.dtype]:
            return False
        exact = to_array(self.subject, wide)
        finite = np.isfinite(left) & np.isfinite(right) & np.isfinite(exact)
        if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
            return False
        if not finite.any():
            return True
        scale = float(np.abs(exact[finite]).max())
        torch_error = float(np.abs(left[finite] - exact[finite]).max())
        own_error = float(np.abs(right[finite] - exact[finite]).max())
        return own_error <= ERROR_RATIO * torch_error + 4 * float(np.finfo(np.float32).eps) * scale


def value_difference(
    expected: np.ndarray[Any, Any], actual: np.ndarray[Any, Any], limits: tuple[float, float]
) -> str | None:
    """None when equal within the limits, otherwise a line with the largest error."""
    if expected.size == 0:
        return None
    if expected.dtype.kind in "biu":
        wrong = expected != actual
        if not wrong.any():
            return None
        where = _first(wrong)
        return (f"{int(wrong.sum())} of {expected.size} differ, first at {where}: "
                f"expected {expected[where]}, got {actual[where]}")
    kind = np.complex128 if expected.dtype.kind == "c" else np.float64
    left, right = expected.astype(kind), actual.astype(kind)
    rtol, atol = limits
    with np.errstate(all="ignore"):
        close = _close(left, right, rtol, atol)
        if close.all():
            return None
        error = np.where(close, 0.0, np.abs(left - right))
    where = _first(~close)
    largest = float(np.nanmax(error)) if np.isfinite(error).any() else float("nan")
    return (f"{int((~close).sum())} of {expected.size} differ, max error {largest:.3g}, first at "
            f"{where}: expected {left[where]}, got {right[where]} (rtol {rtol:g}, atol {atol:g})")


def _close(left: Any, right: Any, rtol: float, atol: float) -> Any:
    if left.dtype.kind == "c":
        return _close(left.real, right.real, rtol, atol + rtol * _finite_abs(left)) & \
            _close(left.imag, right.imag, rtol, atol + rtol * _finite_abs(left))
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    finite = np.isfinite(left) & np.isfinite(right)
    return same | (finite & (np.abs(left - right) <= atol + rtol * np.abs(left)))


def _finite_abs(values: Any) -> Any:
    size = np.abs(values)
    return np.where(np.isfinite(size), size, 0.0)


def _first(mask: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def _field_names(value: Any) -> tuple[str, ...]:
    """Names of the results: of a Python namedtuple or of torch's own return types."""
    named = getattr(value, "_fields", None)
    if named is not None:
        return tuple(named)
    kind = type(value)
    if kind.__module__ != "torch.return_types":
        return ()
    return tuple(name for name in kind.__match_args__ if hasattr(value, name))


def leaves(value: Any) -> Iterator[Any]:
    """The results of a nest, in order."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple) and not isinstance(value, torch.Size):
        for item in value:
            yield from leaves(item)
    else:
        yield value
