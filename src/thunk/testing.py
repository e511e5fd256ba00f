"""Enters: two results. Leaves: nothing, or an AssertionError that says where they differ.

Invariant: tolerances not given follow from the dtypes; what is not a number must be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from thunk.ops.registry import t
from thunk.runtime.tensors import array_from
from thunk.tensor.creation import as_tensor, tensor
from thunk.types import dtype as dtypes
from thunk.types.dtype import dtype
from thunk.types.tensor_base import TensorBase

_TOLERANCES: dict[dtype, tuple[float, float]] = {
    dtypes.float16: (1e-3, 1e-5), dtypes.bfloat16: (1.6e-2, 1e-5), dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7), dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}  # fmt: skip


class _Demands:
    """How equal is equal enough."""

    def __init__(self, **options: Any) -> None:
        self.rtol = options["rtol"]
        self.atol = options["atol"]
        self.equal_nan = options["equal_nan"]
        self.facts = [name for name in ("device", "dtype", "layout") if options[f"check_{name}"]]
        self.check_stride = options["check_stride"]
        self.allow_subclasses = options["allow_subclasses"]

    def tolerances(self, *elements: dtype) -> tuple[float, float]:
        """The larger of the dtypes' tolerances, unless given."""
        if self.rtol is not None:
            return self.rtol, self.atol
        found = [_TOLERANCES.get(each, (0.0, 0.0)) for each in elements]
        return max(each[0] for each in found), max(each[1] for each in found)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless tensors, numbers or containers of them are close."""
    if (rtol is None) != (atol is None):
        raise ValueError(
            "assert_close: expected rtol and atol both or neither, got one; give the other too"
        )
    demands = _Demands(
        rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device,
        check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride,
        allow_subclasses=allow_subclasses,
    )  # fmt: skip
    fault = _fault(actual, expected, demands, "")
    if fault is not None:
        text = msg(fault) if callable(msg) else (fault if msg is None else msg)
        raise AssertionError(text)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older form of `assert_close`, which converts and does not look at dtypes."""
    ours, theirs = (
        each if isinstance(each, TensorBase) else tensor(each) for each in (actual, expected)
    )
    assert_close(
        ours, theirs, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True,
        check_dtype=False, check_stride=False, msg=msg or None,
    )  # fmt: skip


def _fault(actual: Any, expected: Any, demands: _Demands, where: str) -> str | None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            return f"The keys of the mappings do not match: {list(actual)} != {list(expected)}"
        pairs = [(f"{where}[{key!r}]", actual[key], expected[key]) for key in actual]
        return _first(pairs, demands)
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        numbered = enumerate(zip(actual, expected))
        return _first([(f"{where}[{place}]", *pair) for place, pair in numbered], demands)
    if _is_number_like(actual) and _is_number_like(expected):
        return _numbers(actual, expected, demands, where)
    if actual is None and expected is None:
        return None
    raise TypeError(
        f"assert_close: expected tensors, numbers or containers, got No comparison pair was able "
        f"to handle inputs of type {type(actual)} and {type(expected)}."
    )


def _first(pairs: list[tuple[str, Any, Any]], demands: _Demands) -> str | None:
    faults = (_fault(actual, expected, demands, where) for where, actual, expected in pairs)
    return next((fault for fault in faults if fault is not None), None)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_number_like(value: Any) -> bool:
    kinds = (TensorBase, numpy.ndarray, numpy.generic, int, float, complex, bool)
    return isinstance(value, kinds)


def _numbers(actual: Any, expected: Any, demands: _Demands, where: str) -> str | None:
    scalars = not isinstance(actual, (TensorBase, numpy.ndarray)) or not isinstance(
        expected, (TensorBase, numpy.ndarray)
    )
    ours: Any = actual if isinstance(actual, TensorBase) else _as_tensor(actual)
    theirs: Any = expected if isinstance(expected, TensorBase) else _as_tensor(expected)
    if tuple(ours.shape) != tuple(theirs.shape):
        return (
            f"The values for attribute 'shape' do not match: {ours.shape} != {theirs.shape}."
            + _place(where)
        )
    for fact in [] if scalars else demands.facts:
        one, other = getattr(ours, fact), getattr(theirs, fact)
        if one != other:
            words = f"The values for attribute '{fact}' do not match: {one} != {other}."
            return words + _place(where)
    if demands.check_stride and ours.stride() != theirs.stride():
        return (
            f"The values for attribute 'stride()' do not match: {ours.stride()} != "
            f"{theirs.stride()}.{_place(where)}"
        )
    return _values(ours, theirs, demands, where)


def _as_tensor(value: Any) -> Any:
    if isinstance(value, float):
        return tensor(value, dtype=dtypes.float64)
    return as_tensor(value) if isinstance(value, (numpy.ndarray, numpy.generic)) else tensor(value)


def _values(ours: Any, theirs: Any, demands: _Demands, where: str) -> str | None:
    rtol, atol = demands.tolerances(ours._spec.dtype, theirs._spec.dtype)
    wide = dtypes.complex128 if ours._spec.dtype.is_complex else dtypes.float64
    exact = not ours._spec.dtype.is_inexact and not theirs._spec.dtype.is_inexact
    target = dtypes.int64 if exact else wide
    left, right = (array_from(t.to(each.detach(), target)) for each in (ours, theirs))
    with numpy.errstate(all="ignore"):
        same = left == right
        if demands.equal_nan:
            same |= numpy.isnan(left) & numpy.isnan(right)
        gap = numpy.abs(left - right)
        close = same | (numpy.isfinite(right) & (gap <= atol + rtol * numpy.abs(right)))
    if close.all():
        return None
    count, total = int((~close).sum()), close.size
    worst = numpy.unravel_index(
        numpy.argmax(numpy.where(close, -1.0, numpy.nan_to_num(gap, nan=numpy.inf))), close.shape
    )
    index = tuple(int(each) for each in worst)
    relative = float(gap[worst] / abs(right[worst])) if right[worst] else float("inf")
    kind = "Tensor-likes" if close.ndim or isinstance(ours, TensorBase) else "Scalars"
    return (
        f"{kind} are not close!{_place(where)}\n\n"
        f"Mismatched elements: {count} / {total} ({100 * count / total:.1f}%)\n"
        f"Greatest absolute difference: {gap[worst]} at index {index} (up to {atol} allowed)\n"
        f"Greatest relative difference: {relative} "
        f"at index {index} (up to {rtol} allowed)"
    )


def _place(where: str) -> str:
    return f"\n\nThe failure occurred for item {where}" if where else ""


def make_tensor(
    *shape: Any,
    dtype: dtype,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    **_: Any,
) -> Any:
    """A tensor of random values of any dtype, between `low` and `high`."""
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if dtype is dtypes.bool_:
        return t.to(t.randint(0, 2, sizes), dtype)
    if not dtype.is_inexact:
        start, stop = 0 if low is None else int(low), 10 if high is None else int(high)
        return t.to(t.randint(start, stop, sizes), dtype)
    least, most = -9.0 if low is None else low, 9.0 if high is None else high
    made = t.to(t.rand(sizes, dtype=dtypes.float64) * (most - least) + least, dtype)
    return made.requires_grad_(requires_grad)
