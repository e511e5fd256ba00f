"""Windows given by strides, and their adjoints: what every other view is a case of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import NoGradient
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.types.spec import TensorSpec


def _check_geometry(size: Any, stride: Any, offset: int | None) -> None:
    if len(size) != len(stride):
        raise Mismatch(
            f"mismatch in length of strides and shape, got {list(stride)} and {list(size)}"
        )
    if any(each < 0 for each in stride):
        raise Mismatch(
            "as_strided: Negative strides are not supported at the moment, "
            f"got strides: {list(stride)}"
        )
    if any(each < 0 for each in size):
        raise Mismatch(f"expected sizes that are not negative, got {list(size)}")
    if offset is not None and offset < 0:
        raise Mismatch(f"Tensor: invalid storage offset {offset}; expected 0 or more")


def _as_strided(self: TensorSpec, size: Any, stride: Any, storage_offset: Any) -> TensorSpec:
    _check_geometry(size, stride, storage_offset)
    return self.window(tuple(size), tuple(stride), storage_offset)


def may_overlap(spec: TensorSpec) -> bool:
    """Whether two elements of the window may be one element of the storage."""
    if spec.numel <= 1:
        return False
    reach = 0
    pairs = zip(spec.strides, spec.shape, strict=True)
    for stride, size in sorted((stride, size) for stride, size in pairs if size != 1):
        if stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def _as_strided_backward(
    grad: Any, self_spec: TensorSpec, size: Any, stride: Any, storage_offset: Any
) -> Any:
    """The gradient of the storage, looked at as `self` looks at it."""
    offset = self_spec.offset if storage_offset is None else storage_offset
    start = min(offset, self_spec.offset)
    window = TensorSpec(tuple(size), self_spec.dtype, tuple(stride), offset - start)
    own = replace(self_spec, offset=self_spec.offset - start)
    length = max(own.extent(), window.extent())
    flat = t.zeros((length,), dtype=grad.dtype, device=grad.device)
    if may_overlap(window):
        flat = t.index_add(flat, 0, _places(length, window, grad), grad.reshape(-1))
    else:
        flat = t.as_strided_scatter(flat, grad, window.shape, window.strides, window.offset)
    seen = t.as_strided(flat, own.shape, own.strides, own.offset)
    if not may_overlap(own):
        return seen
    # An element that `self` shows several times shares its gradient out among them.
    ones = t.ones((own.numel,), dtype=grad.dtype, device=grad.device)
    counts = t.index_add(t.zeros_like(flat), 0, _places(length, own, grad), ones)
    return seen / t.as_strided(counts, own.shape, own.strides, own.offset)


def _places(length: int, window: TensorSpec, grad: Any) -> Any:
    """The storage position of every element of `window`, row-major."""
    positions = t.arange(length, device=grad.device)
    return t.as_strided(positions, window.shape, window.strides, window.offset).reshape(-1)


declare(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor(a)",
    doc="A window of any shape and strides into the storage of `self`.",
    spec=_as_strided,
    vjp={"self": _as_strided_backward},
    view=True,
    variants="function method inplace",
)

declare(
    "detach(Tensor(a) self) -> Tensor(a)",
    doc="The same values without history.",
    spec=lambda self: self,
    vjp=NoGradient("detach() cuts the history"),
    view=True,
)

declare(
    "alias(Tensor(a) self) -> Tensor(a)",
    doc="A view of all of `self`.",
    spec=lambda self: self,
    vjp={"self": lambda grad: grad},
    view=True,
    variants="",
)

declare(
    "relayout(Tensor self, int[] strides) -> Tensor",
    doc="A copy whose elements lie exactly as `strides` say, gaps included.",
    spec=lambda self, strides: replace(self, strides=tuple(strides), offset=0),
    vjp={"self": lambda grad: grad},
    variants="",
)


def _as_strided_scatter(
    self: TensorSpec, src: TensorSpec, size: Any, stride: Any, storage_offset: Any
) -> TensorSpec:
    _check_geometry(size, stride, storage_offset)
    if src.shape != tuple(size):
        raise Mismatch(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(size)}"
        )
    window = TensorSpec(tuple(size), self.dtype, tuple(stride), storage_offset or 0)
    if window.numel and window.extent() > self.extent():
        raise Mismatch(
            f"setStorage: expected a window inside self, got sizes {list(size)}, strides "
            f"{list(stride)}, storage offset {storage_offset} which are out of bounds for a "
            f"storage of {self.extent()} elements"
        )
    # The window is a place in the storage, so the copy keeps the place of `self` in its own.
    return self.fresh() if _repeats(self) else self


def _placed(grad: Any, own: TensorSpec) -> Any:
    """`grad` in memory that is laid out like that of `own`, whose windows are then the same."""
    if own.offset == 0 and own.is_non_overlapping_and_dense():
        return t.relayout(grad, own.strides)
    if _repeats(own):
        return grad.contiguous()
    flat = t.zeros((own.extent(),), dtype=grad.dtype, device=grad.device)
    placed = t.as_strided_scatter(flat, grad, own.shape, own.strides, own.offset)
    return t.as_strided(placed, own.shape, own.strides, own.offset)


def _repeats(spec: TensorSpec) -> bool:
    return any(stride == 0 and size > 1 for stride, size in zip(spec.strides, spec.shape))


declare(
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor",
    doc="A copy of `self` whose window of the given shape and strides holds `src`.",
    spec=_as_strided_scatter,
    vjp={
        "self": lambda grad, self_spec, size, stride, storage_offset, src_spec: (
            t.as_strided_scatter(
                _placed(grad, self_spec),
                t.zeros(src_spec.shape, dtype=grad.dtype, device=grad.device),
                size,
                stride,
                storage_offset,
            )
        ),
        "src": lambda grad, self_spec, size, stride, storage_offset: t.as_strided(
            _placed(grad, self_spec), size, stride, storage_offset
        ),
    },
    variants="function method out",
)
