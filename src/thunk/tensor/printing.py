"""Enters: values as a NumPy array and what is known about their tensor. Leaves: PyTorch's text.

Invariant: every decision about widths and notation is made on values widened to double, and only
on the values that will be shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

PLAIN_PREFIX = "tensor("
_ELLIPSIS = "..."
_LARGEST_PLAIN = 1.0e8
_SMALLEST_PLAIN = 1.0e-4
_WIDEST_RATIO = 1000.0


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print: a profile first, then each option given besides it.

    As in PyTorch, `sci_mode` returns to automatic whenever it is not given, and a profile of an
    unknown name changes nothing.
    """
    changes = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changes.update({name: value for name, value in given.items() if value is not None})
    for name, value in changes.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keyword arguments for `set_printoptions`."""
    return asdict(_options)


@contextmanager
def printoptions(**changes: Any) -> Iterator[None]:
    """Print with other options inside a `with` block."""
    before = get_printoptions()
    set_printoptions(**changes)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Column:
    """One notation and one width for all the shown values of a tensor."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.floating = values.dtype.kind == "f"
        self.whole = True
        self.scientific = False
        self.width = 1
        flat = values.reshape(-1)
        if self.floating:
            flat = flat[numpy.isfinite(flat) & (flat != 0)]
            if flat.size:
                self._choose_notation(flat)
        for value in flat.tolist():
            # A whole float leaves room for its trailing point even when it is not written.
            self.width = max(self.width, len(self._digits(value)) + self._point())

    def _choose_notation(self, finite: NDArray[Any]) -> None:
        sizes = numpy.abs(finite)
        largest, smallest = float(sizes.max()), float(sizes.min())
        self.whole = bool((numpy.ceil(finite) == finite).all())
        if _options.sci_mode is not None:
            self.scientific = _options.sci_mode
            return
        self.scientific = (
            largest / smallest > _WIDEST_RATIO
            or largest > _LARGEST_PLAIN
            or smallest < _SMALLEST_PLAIN
        )

    def _point(self) -> int:
        return int(self.floating and self.whole and not self.scientific)

    def _digits(self, value: Any) -> str:
        if not self.floating:
            return f"{value}"
        if self.scientific:
            return f"{{:.{_options.precision}e}}".format(value)
        if self.whole:
            return f"{value:.0f}"
        return f"{{:.{_options.precision}f}}".format(value)

    def text(self, value: Any) -> str:
        digits = self._digits(value)
        if self._point() and math.isfinite(value):
            digits += "."
        return digits.rjust(self.width)


class _ComplexColumn:
    """Two columns, one for each part."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._real = _Column(values.real)
        self._imaginary = _Column(values.imag)
        self.width = self._real.width + self._imaginary.width + 1

    def text(self, value: complex) -> str:
        imaginary = (self._imaginary.text(value.imag) + "j").lstrip()
        sign = "" if imaginary[0] in "+-" else "+"
        return self._real.text(value.real) + sign + imaginary


def _widened(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "c":
        return values.astype(numpy.complex128)
    # The kind of ml_dtypes' types is "V".
    return values.astype(numpy.float64) if values.dtype.kind in "fV" else values


def _edges(values: NDArray[Any], edge: int) -> NDArray[Any]:
    """The rows of each axis that a summary shows."""
    for axis, size in enumerate(values.shape):
        if size > 2 * edge:
            ends = [*range(edge), *range(size - edge, size)]
            values = numpy.take(values, ends, axis=axis)
    return values


def _values_text(values: NDArray[Any], indent: int) -> str:
    summarized = values.size > _options.threshold
    edge = _options.edgeitems
    if summarized and not edge and values.ndim:
        return f"[{_ELLIPSIS}]"
    elided = [summarized and size > 2 * edge for size in values.shape]
    shown = _widened(_edges(values, edge) if summarized else values)
    column = _ComplexColumn(shown) if shown.dtype.kind == "c" else _Column(shown)
    if not shown.ndim:
        return column.text(shown.item())
    return _nested_text(shown, column, elided, indent)


def _nested_text(
    shown: NDArray[Any], column: _Column | _ComplexColumn, elided: list[bool], indent: int
) -> str:
    middle = _options.edgeitems
    if shown.ndim == 1:
        items = [column.text(value) for value in shown.tolist()]
        if elided[0]:
            items.insert(middle, " " + _ELLIPSIS)
        return _row_text(items, column.width, indent)
    blocks = [_nested_text(block, column, elided[1:], indent + 1) for block in shown]
    if elided[0]:
        blocks.insert(middle, _ELLIPSIS)
    separator = "," + "\n" * (shown.ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(blocks) + "]"


def _row_text(items: list[str], width: int, indent: int) -> str:
    per_line = max(1, math.floor((_options.linewidth - indent) / (width + 2)))
    lines = [", ".join(items[start : start + per_line]) for start in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    parts = [text]
    # PyTorch counts one column too many on the line that values end on; the wrapping depends on it.
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > _options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    return "".join(parts) + ")"


def _shape_and_dtype(
    shape: tuple[int, ...], is_meta: bool, dtype_name: str, default_dtype: str
) -> list[str]:
    """The size and dtype that a reader could not infer from the values."""
    size = f"size={shape}"
    element = f"dtype=torch.{dtype_name}"
    empty = 0 in shape
    if is_meta or empty:
        shown = [size] if is_meta or len(shape) != 1 else []
        return shown if dtype_name == default_dtype else [*shown, element]
    shown = [] if _options.edgeitems else [size]
    default_complex = "complex128" if default_dtype == "float64" else "complex64"
    inferred = dtype_name in (default_dtype, default_complex, "int64", "bool")
    return shown if inferred else [*shown, element]


def tensor_text(
    array: NDArray[Any] | None,
    *,
    dtype_name: str,
    shape: tuple[int, ...] | None = None,
    default_dtype: str = "float32",
    device: str = "cpu",
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    prefix: str = PLAIN_PREFIX,
    is_parameter: bool = False,
    contents: str | None = None,
) -> str:
    """The `repr` of a tensor.

    `array` is None for a tensor without values (meta), which prints its `shape` only. `contents`
    replaces the text of the values. A parameter announces itself on a line of its own; a parameter
    of a tensor subclass (another `prefix`) is also wrapped in `Parameter(...)`.
    """
    if array is None and shape is None:
        raise ValueError(
            "tensor_text: expected an array or a shape, got neither; "
            "pass shape= for a tensor without values"
        )
    extent = tuple(array.shape if array is not None else shape or ())
    indent = len(prefix)
    if contents is not None:
        text = contents
    elif array is None:
        text = _ELLIPSIS
    else:
        text = "[]" if not array.size else _values_text(array, indent)
    suffixes = [] if device.partition(":")[0] == "cpu" else [f"device='{device}'"]
    suffixes += _shape_and_dtype(extent, array is None, dtype_name, default_dtype)
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    whole = _with_suffixes(prefix + text, suffixes, indent)
    if not is_parameter:
        return whole
    if prefix != PLAIN_PREFIX:
        whole = f"Parameter({whole})"
    return "Parameter containing:\n" + whole
