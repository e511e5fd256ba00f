"""Enters: specs and per-dimension arguments of operators over pictures. Leaves: them, checked.

Invariant: a window argument leaves with one number a spatial dimension; a result keeps the memory
format (channels last or not) that its input suggests.
"""

from __future__ import annotations

from collections.abc import Sequence

from thunk.base.errors import Mismatch, expected
from thunk.types.dtype import BOOL, COMPLEX, FLOATING, INTEGRAL, dtype
from thunk.types.spec import TensorSpec, contiguous_strides, make_spec

FLOATING_ONLY = (FLOATING,)
INEXACT = (FLOATING, COMPLEX)
REAL = (INTEGRAL, FLOATING)
NUMERIC = (INTEGRAL, FLOATING, COMPLEX)
ANY = (BOOL, INTEGRAL, FLOATING, COMPLEX)

_CHANNELS_LAST = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}  # from the fastest to the slowest
_CATEGORY_NAMES = {
    BOOL: "bool", INTEGRAL: "integer", FLOATING: "floating point", COMPLEX: "complex",
}  # fmt: skip


def check_dtype(spec: TensorSpec, categories: Sequence[int], *extra: dtype) -> None:
    """Refuse elements of other kinds than `categories`; `extra` lists single dtypes let in."""
    if spec.dtype.category in categories or spec.dtype in extra:
        return
    names = [_CATEGORY_NAMES[each] for each in categories] + [repr(each) for each in extra]
    raise expected(
        f"an input of a {' or '.join(names)} dtype", repr(spec.dtype),
        "convert it with .to(...)", NotImplementedError,
    )  # fmt: skip


def check_same_dtype(spec: TensorSpec, other: TensorSpec | None, names: str) -> None:
    """Two operands must have one dtype; `names` says what they are."""
    if other is not None and spec.dtype is not other.dtype:
        raise expected(
            f"{names} of the same dtype", f"{spec.dtype!r} and {other.dtype!r}",
            "convert one with .to(...)",
        )  # fmt: skip


def per_dimension(values: Sequence[int], count: int, name: str) -> tuple[int, ...]:
    """`values` as one number a dimension; a single number stands for all of them."""
    if len(values) == count:
        return tuple(values)
    if len(values) == 1:
        return tuple(values) * count
    raise expected(
        f"{name} to be a single integer value or a list of {count} values", list(values)
    )


def suggests_channels_last(spec: TensorSpec) -> bool:
    """Whether a result computed from `spec` should have its channels innermost."""
    order = _CHANNELS_LAST.get(spec.ndim)
    if order is None or spec.strides[1] == 0:
        return False
    smallest = 0
    for position in order:
        size, stride = spec.shape[position], spec.strides[position]
        if size == 0 or stride < smallest:
            return False
        if position == 0 and smallest == spec.strides[1]:
            return False  # N111: either order fits, and row-major is the usual one
        smallest = stride * max(size, 1)
    return True


def channels_last_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Dense strides with the channels innermost."""
    strides = [0] * len(shape)
    running = 1
    for position in _CHANNELS_LAST[len(shape)]:
        strides[position] = running
        running *= max(shape[position], 1)
    return tuple(strides)


def picture_spec(
    source: TensorSpec, shape: tuple[int, ...], element: dtype | None = None,
    channels_last: bool | None = None,
) -> TensorSpec:  # fmt: skip
    """The spec of a new tensor of `shape` in the memory format that `source` suggests."""
    last = suggests_channels_last(source) if channels_last is None else channels_last
    last = last and len(shape) in _CHANNELS_LAST
    strides = channels_last_strides(shape) if last else contiguous_strides(shape)
    return TensorSpec(shape, element or source.dtype, strides, 0, source.device)


def plain_spec(
    source: TensorSpec, shape: tuple[int, ...], element: dtype | None = None
) -> TensorSpec:
    """The spec of a new row-major tensor of `shape` beside `source`."""
    return make_spec(shape, element or source.dtype, source.device)


def batched(spec: TensorSpec, spatial: int) -> bool:
    """Whether the input has a batch dimension; Mismatch if it is no picture at all."""
    if spec.ndim not in (spatial + 1, spatial + 2):
        raise Mismatch(
            f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input, "
            f"got input of size {list(spec.shape)}"
        )
    return spec.ndim == spatial + 2
