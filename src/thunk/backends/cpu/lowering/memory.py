"""Creation, copies, conversions, windows that are written, joining, padding, turning."""

from __future__ import annotations

from typing import Any

from thunk.backends.cpu.lowering.pointwise import Operands, pointwise
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Value
from thunk.types import dtype as d
from thunk.types.dtype import COMPLEX
from thunk.types.spec import TensorSpec, contiguous_strides


@pointwise("clone", "_to_copy")
def copied(to: Operands, self: Any, *options: Any) -> Expression:
    return to(self)


@pointwise("relayout")
def relayout(to: Operands, self: Any, strides: Any) -> Expression:
    return to(self)


@pointwise("with_history")
def with_history(to: Operands, value: Any, history: Any) -> Expression:
    return to(value)


@pointwise("copy")
def copy(to: Operands, self: Any, src: Any, non_blocking: Any) -> Expression:
    return to(src)


@lowering("_reshape_copy")
def reshape_copy(at: At, self: Value, size: Any) -> None:
    domain = at.over(self.spec.shape)
    value = domain.read(self)
    if not at.result.is_contiguous():
        raise Unsupported("a result that is not row-major")
    domain.store_as(value, contiguous_strides(self.spec.shape), 0)


def _filled(to: Operands, value: Any) -> Expression:
    if to.element.category == COMPLEX:
        raise Unsupported("complex numbers")
    return to(value)


@pointwise("fill.Scalar", "fill.Tensor")
def fill(to: Operands, self: Any, value: Any) -> Expression:
    return _filled(to, value)


@pointwise("full_like")
def full_like(to: Operands, self: Any, fill_value: Any, *options: Any) -> Expression:
    return _filled(to, fill_value)


@pointwise("full")
def full(to: Operands, size: Any, fill_value: Any, *options: Any) -> Expression:
    return _filled(to, fill_value)


@pointwise("scalar_tensor")
def scalar_tensor(to: Operands, s: Any, *options: Any) -> Expression:
    return _filled(to, s)


@pointwise("zero", "zeros", "empty.memory_format", "empty_strided")
def zeros(to: Operands, *options: Any) -> Expression:
    return _filled(to, 0)


@pointwise("ones")
def ones(to: Operands, *options: Any) -> Expression:
    return _filled(to, 1)


def _range(at: At, start: Any, step: Any) -> None:
    """Counted in float64; integers step by whole numbers from a whole one."""
    domain = at.points()
    element = at.result.dtype
    if element.category == COMPLEX:
        raise Unsupported("complex numbers")
    wide = d.float64 if element.is_floating_point else d.int64
    first, each = (domain.number(value, wide) for value in (start, step))
    domain.store((first + domain.place(0).to(wide) * each).to(element))


@lowering("arange")
def arange(at: At, end: Any, *options: Any) -> None:
    _range(at, 0, 1)


@lowering("arange.start", "range")
def arange_start(at: At, start: Any, end: Any, *options: Any) -> None:
    _range(at, start, 1)


@lowering("arange.start_step", "range.step")
def arange_step(at: At, start: Any, end: Any, step: Any, *options: Any) -> None:
    _range(at, start, step)


def _even_steps(at: At, start: Any, end: Any) -> tuple[Domain, Expression]:
    """Each half counts from its own end, so both ends are exact; in float64."""
    element = at.result.dtype
    if element.category == COMPLEX:
        raise Unsupported("complex numbers")
    domain = at.points()
    first, last = (domain.number(each, d.float64) for each in (start, end))
    if not element.is_floating_point:
        first, last = (each.unary("trunc") for each in (first, last))
    steps = domain.sizes[0]
    if steps == 1:
        return domain, first
    step = (last - first) / float(steps - 1)
    place = domain.place(0)
    upper = last - step * (steps - 1 - place).to(d.float64)
    return domain, (place < steps // 2).where(first + step * place.to(d.float64), upper)


@lowering("linspace")
def linspace(at: At, start: Any, end: Any, steps: int, *options: Any) -> None:
    domain, value = _even_steps(at, start, end)
    domain.store(value.to(at.result.dtype))


@lowering("logspace")
def logspace(at: At, start: Any, end: Any, steps: int, base: Any, *options: Any) -> None:
    at.math_known("pow")
    if not at.result.dtype.is_floating_point:
        raise Unsupported("powers that are cut to integers")
    domain, value = _even_steps(at, start, end)
    domain.store(domain.number(base, d.float64).math("pow", value).to(at.result.dtype))


@lowering("eye", "eye.m")
def eye(at: At, *options: Any) -> None:
    domain = at.points()
    domain.store(domain.place(0).eq(domain.place(1)).to(at.result.dtype))


def _triangle(at: At, self: Value, diagonal: int, lower: bool) -> None:
    domain = at.points()
    rank = len(domain.sizes)
    strides = [0] * rank
    strides[rank - 1], strides[rank - 2] = 1, -1
    right = domain.terms.place(tuple(strides))
    kept = right <= diagonal if lower else right >= diagonal
    value = domain.read(self)
    domain.store(kept.where(value, domain.terms.constant(0, value.dtype)))


@lowering("tril")
def tril(at: At, self: Value, diagonal: int) -> None:
    _triangle(at, self, diagonal, True)


@lowering("triu")
def triu(at: At, self: Value, diagonal: int) -> None:
    _triangle(at, self, diagonal, False)


@lowering("as_strided_scatter")
def as_strided_scatter(
    at: At, self: Value, src: Value, size: Any, stride: Any, storage_offset: Any
) -> None:
    """The whole storage copied, then the window written."""
    if self.node is not None and self.node.op.view:
        raise Unsupported("a window of a window")
    offset = storage_offset or 0
    window = TensorSpec(tuple(size), at.result.dtype, tuple(stride), offset)
    _windowed(at, self, src, window)


def _windowed(at: At, self: Value, src: Value, window: TensorSpec) -> None:
    domain = at.points()
    if at.result.numel and window.numel != at.result.numel:
        domain.store(domain.read(self))
    inside = at.over(window.shape)
    target = Access(
        at.lower.buffer(at.node.outputs[0]), at.result.dtype, window.strides, window.offset
    )
    inside.write(target, inside.read(src))


@lowering("select_scatter")
def select_scatter(at: At, self: Value, src: Value, dim: int, index: int) -> None:
    spec = at.result
    dim %= len(spec.shape)
    index %= spec.shape[dim]
    window = TensorSpec(
        spec.shape[:dim] + spec.shape[dim + 1 :], spec.dtype,
        spec.strides[:dim] + spec.strides[dim + 1 :], index * spec.strides[dim],
    )  # fmt: skip
    _windowed(at, self, src, window)


@lowering("slice_scatter")
def slice_scatter(
    at: At, self: Value, src: Value, dim: int, start: Any, end: Any, step: int
) -> None:
    spec = at.result
    dim %= len(spec.shape)
    first, _, _ = slice(start, end, step).indices(spec.shape[dim])
    strides = list(spec.strides)
    strides[dim] *= step
    window = TensorSpec(
        src.spec.shape, spec.dtype, tuple(strides), first * spec.strides[dim]
    )
    _windowed(at, self, src, window)


@lowering("diagonal_scatter")
def diagonal_scatter(
    at: At, self: Value, src: Value, offset: int, dim1: int, dim2: int
) -> None:
    spec = at.result
    rank = len(spec.shape)
    first, second = dim1 % rank, dim2 % rank
    start = offset * spec.strides[second] if offset >= 0 else -offset * spec.strides[first]
    kept = [each for each in range(rank) if each not in (first, second)]
    window = TensorSpec(
        src.spec.shape, spec.dtype,
        (*[spec.strides[each] for each in kept], spec.strides[first] + spec.strides[second]),
        start,
    )  # fmt: skip
    _windowed(at, self, src, window)


@lowering("cat")
def cat(at: At, tensors: Any, dim: int) -> None:
    spec = at.result
    buffer = at.lower.buffer(at.node.outputs[0])
    dim %= max(len(spec.shape), 1)
    start = 0
    for tensor in tensors:
        shape = tensor.spec.shape
        if shape == (0,) and len(spec.shape) != 1:
            continue
        domain = at.over(shape)
        offset = start * spec.strides[dim]
        target = Access(buffer, spec.dtype, spec.strides, offset)
        domain.write(target, domain.operand(tensor, spec.dtype))
        start += shape[dim]


@lowering("constant_pad_nd")
def constant_pad(at: At, self: Value, pad: Any, value: Any) -> None:
    domain = at.points()
    rank = len(domain.sizes)
    before = [0] * rank
    for position in range(len(pad) // 2):
        before[rank - 1 - position] = pad[2 * position]
    other = domain.number(value, at.result.dtype).to(at.result.dtype)
    inside = domain.terms.constant(True, d.bool_)
    for loop, (first, size) in enumerate(zip(before, self.spec.shape, strict=True)):
        if first == 0 and size == domain.sizes[loop]:
            continue
        place = domain.place(loop)
        inside = inside & (place >= first) & (place < first + size)
    spec = self.spec
    offset = spec.offset - sum(first * stride for first, stride in zip(before, spec.strides))
    if 0 in spec.shape:
        domain.store(other)
        return
    access = Access(at.lower.buffer(self), spec.dtype, spec.strides, offset)
    domain.store(domain.terms.guarded(access, inside, other))


@lowering("flip")
def flip(at: At, self: Value, dims: Any) -> None:
    domain = at.points()
    spec = self.spec
    rank = len(spec.shape)
    flipped = {each % rank for each in dims} if rank else set()
    strides, offset = list(spec.strides), spec.offset
    for loop in flipped:
        offset += (spec.shape[loop] - 1) * strides[loop]
        strides[loop] = -strides[loop]
    access = Access(at.lower.buffer(self), spec.dtype, tuple(strides), offset)
    domain.store(at.lower.load(access))
