"""Products of matrices and convolutions: library calls, with what surrounds them fused apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.calls.specs import AddOperand, Reorder, matmul
from thunk.backends.cpu.lowering.blocked import call_library, layout_of, room
from thunk.backends.cpu.onednn.call import OneDnnCall
from thunk.backends.cpu.runner import threads
from thunk.compiler.access import Access
from thunk.compiler.expression import Expression, working
from thunk.compiler.lowering import At, Domain, Unsupported, lowering
from thunk.ir.graph import Scalar, Value
from thunk.types import dtype as d
from thunk.types.dtype import FLOATING, INTEGRAL, dtype
from thunk.types.spec import contiguous_strides

MOST_INTEGER_PRODUCTS = 1 << 24
FUSED_POINTS = 1 << 12  # below this an addition of our own costs less than the library's

FEWEST_ROWS = 8  # products with fewer read the matrix at the pace of memory, packed or not
WORTH_PACKING = 1 << 18  # bytes; smaller matrices stay in cache
OFTEN = 4


def _place(at: At, value: Value) -> Access:
    return at.lower.window(value)


def _check(at: At, *values: Value) -> None:
    """Floating point of one type."""
    element = at.result.dtype
    if element.category != FLOATING or any(each.spec.dtype is not element for each in values):
        raise Unsupported("products of other types")


def _multiply(
    at: At, left: tuple[Layout, Access], right: tuple[Layout, Access],
    out: tuple[Layout, Access], bias: tuple[Layout, Access] | None = None,
    added: tuple[Layout, Access] | None = None,
) -> None:  # fmt: skip
    if left[0].shape[-1] == 0:
        _store_no_products(at, out, [bias, added])
        return
    post = () if added is None else (AddOperand(added[0]),)
    summand = None if bias is None else bias[0]
    spec = matmul(left[0], right[0], out[0], summand, post, threads().count)
    packed = _packed(at, right) if out[0].shape[-2] >= FEWEST_ROWS else None
    if packed is not None:
        better = matmul(left[0], packed[0], out[0], summand, post, threads().count)
        if isinstance(build(better), OneDnnCall):
            spec, right = better, packed
    places = {"left": left[1], "right": right[1], "out": out[1]}
    if added is not None:
        places["added0"] = added[1]
    if bias is not None:
        places["bias"] = bias[1]
    call_library(at, spec, places)


def _packed(at: At, right: tuple[Layout, Access]) -> tuple[Layout, Access] | None:
    """A matrix that many products read, in the library's own layout: reordered once."""
    own, access = right
    if own.nbytes < WORTH_PACKING or len(own.shape) != 2 or own.strides is None:
        return None
    key = (access.buffer, own.shape, access.strides, access.offset)
    memory = at.lower.memory
    if key not in memory:
        memory[key] = None
        if _times_read(at).get(key, 0) >= OFTEN:
            memory[key] = _pack(at, own, access)
    found: tuple[Layout, Access] | None = memory[key]
    return found


def _times_read(at: At) -> dict[Any, int]:
    """How many products read each matrix on their right."""
    known: dict[Any, int] | None = at.lower.memory.get(_times_read)
    if known is None:
        known = at.lower.memory[_times_read] = {}
        for node in at.lower.graph.nodes:
            if node.op.full_name in ("aten::mm", "aten::addmm"):
                value = node.args[-1 if node.op.full_name == "aten::mm" else 2]
                access = _place(at, value)
                key = (access.buffer, value.spec.shape, access.strides, access.offset)
                known[key] = known.get(key, 0) + 1
    return known


def _pack(at: At, own: Layout, access: Access) -> tuple[Layout, Access] | None:
    rows = plain((FEWEST_ROWS, own.shape[0]), own.dtype)
    out = plain((FEWEST_ROWS, own.shape[1]), own.dtype)
    layout = build(matmul(rows, own.freed(), out, threads=threads().count)).layout("right")
    if layout.is_free or layout.is_plain:
        return None
    place = Access(room(at, layout), layout.dtype, ())
    spec = Reorder(own, layout, threads().count)
    call_library(at, spec, {"source": access, "result": place})
    return layout, place


def _store_no_products(
    at: At, out: tuple[Layout, Access], added: Sequence[tuple[Layout, Access] | None]
) -> None:
    """Sums of nothing, and what is added to them."""
    domain = at.over(out[0].shape)
    term = at.terms.constant(0, out[1].element)
    for each in added:
        if each is not None:
            leading = (0,) * (len(domain.sizes) - len(each[1].strides))
            term = term + at.lower.load(each[1].over(leading + each[1].strides))
    domain.write(out[1], term)


def _operand(at: At, value: Value) -> tuple[Layout, Access]:
    return layout_of(value.spec), _place(at, value)


def _result(at: At) -> tuple[Layout, Access]:
    value = at.node.outputs[0]
    return layout_of(value.spec), _place(at, value)


@lowering("mm", "bmm")
def product(at: At, self: Value, mat2: Value) -> None:
    if at.result.dtype.category == INTEGRAL and at.result.dtype is not d.bool_:
        _integer_product(at, self, mat2)
        return
    _check(at, self, mat2)
    _multiply(at, _operand(at, self), _operand(at, mat2), _result(at))


def _integer_product(at: At, self: Value, mat2: Value) -> None:
    """Sums of products as loops: libraries know floating point only."""
    shape = at.result.shape
    inner = self.spec.shape[-1]
    if prod(shape) * inner > MOST_INTEGER_PRODUCTS:
        raise Unsupported("large products of integers")
    domain = at.over((*shape, inner))
    left, right = self.spec.strides, mat2.spec.strides
    term = domain.read_as(self, (*left[:-1], 0, left[-1])) * domain.read_as(
        mat2, (*right[:-2], 0, right[-1], right[-2])
    )
    kept, total = domain.reduce("add", term, (len(shape),)).kept(False)
    kept.store(total)


def _is(value: Any, number: int) -> bool:
    return not isinstance(value, Scalar) and value == number


def _temporary(at: At, shape: tuple[int, ...], element: dtype) -> tuple[Layout, Access]:
    buffer = at.lower.temporary(element, prod(shape))
    strides = contiguous_strides(shape)
    return plain(shape, element, strides), Access(buffer, element, strides)


@lowering("addmm", "baddbmm")
def added_product(
    at: At, self: Value, first: Value, second: Value, beta: Any, alpha: Any
) -> None:
    _check(at, first, second)
    shape, element = at.result.shape, at.result.dtype
    left, right = _operand(at, first), _operand(at, second)
    vector = len(self.spec.shape) == 1 and self.spec.shape[0] == shape[-1]
    if _is(beta, 1) and _is(alpha, 1) and vector and self.spec.dtype is element:
        _multiply(at, left, right, _result(at), _operand(at, self))
        return
    if _is(beta, 1) and _is(alpha, 1) and self.spec.shape == shape and (
        self.spec.dtype is element and prod(shape) >= FUSED_POINTS
    ):
        _multiply(at, left, right, _result(at), added=_operand(at, self))
        return
    out = _temporary(at, shape, working(element))
    _multiply(at, left, right, out)
    domain = at.points()
    term = domain.lower.load(out[1])
    _store_sum(at, domain, self, term, beta, alpha)


def _store_sum(
    at: At, domain: Domain, self: Value, term: Expression, beta: Any, alpha: Any
) -> None:
    if not _is(alpha, 1):
        term = term * domain.number(alpha, term.dtype)
    if not _is(beta, 0):
        own = domain.read(self).to(term.dtype)
        if not _is(beta, 1):
            factor = domain.number(beta, term.dtype)
            own = own * factor
            if isinstance(beta, Scalar):
                own = factor.eq(0).where(0, own)
        term = term + own
    domain.store(term)


@lowering("linear")
def linear(at: At, input: Value, weight: Value, bias: Any) -> None:
    operands = [input, weight, *([] if bias is None else [bias])]
    _check(at, *operands)
    rows = _flattened(at, input)
    count = rows[0].shape[0]
    spec = weight.spec
    turned = (spec.shape[1], spec.shape[0]), (spec.strides[1], spec.strides[0])
    right = plain(turned[0], spec.dtype, turned[1]), _place(at, weight)
    if not at.result.is_contiguous():
        raise Unsupported("a result that is not row-major")
    out_shape = (count, spec.shape[0])
    out = plain(out_shape, at.result.dtype), _place(at, at.node.outputs[0])
    _multiply(at, rows, right, out, None if bias is None else _operand(at, bias))


def _flattened(at: At, value: Value) -> tuple[Layout, Access]:
    """All leading dimensions as one; copied if they are not one in memory."""
    spec = value.spec
    shape = (prod(spec.shape[:-1]), spec.shape[-1])
    step = _single_step(spec.shape[:-1], spec.strides[:-1])
    if step is not None:
        return plain(shape, spec.dtype, (step, spec.strides[-1])), _place(at, value)
    domain = at.over(spec.shape)
    copied = domain.named(domain.read(value), spec.dtype)
    access = next(iter(copied.reads))
    return plain(shape, spec.dtype), Access(access.buffer, spec.dtype, (shape[1], 1))


def _single_step(sizes: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """The step that walks all of these dimensions in order, if one does."""
    step: int | None = None
    for size, stride in reversed(list(zip(sizes, strides, strict=True))):
        if size == 1:
            continue
        if step is None:
            first = step = stride
        elif stride != step:
            return None
        step *= size
    return 1 if step is None else first


@lowering("mv", "addmv")
def matrix_vector(at: At, *args: Any) -> None:
    """Memory sets the pace: a fused reduction reads the matrix once."""
    added = len(args) > 2
    self, vector = args[1:3] if added else args[:2]
    if at.result.dtype.category not in (FLOATING, INTEGRAL) or at.result.dtype is d.bool_:
        raise Unsupported("products of complex numbers, or of truth")
    domain = at.over(self.spec.shape)
    term = domain.read(self) * domain.read(vector)
    kept, total = domain.reduce("add", term, (1,)).kept(False)
    if added:
        _store_sum(at, kept, args[0], total, args[3], args[4])
    else:
        kept.store(total)


@lowering("dot", "vdot")
def dot(at: At, self: Value, other: Value) -> None:
    domain = at.over(self.spec.shape)
    kept, total = domain.reduce("add", domain.read(self) * domain.read(other), (0,)).kept(False)
    kept.store(total)


@lowering("addr")
def added_outer_product(
    at: At, self: Value, vec1: Value, vec2: Value, beta: Any, alpha: Any
) -> None:
    element = at.result.dtype
    if element.category != FLOATING:
        raise Unsupported("products of integers")
    domain = at.points()
    left = domain.read_along(vec1, (0,)).to(element)
    _store_sum(at, domain, self, left * domain.read_along(vec2, (1,)).to(element), beta, alpha)


@lowering("addbmm")
def added_products(
    at: At, self: Value, batch1: Value, batch2: Value, beta: Any, alpha: Any
) -> None:
    """The batches side by side are one long product."""
    _check(at, batch1, batch2)
    shape, element = (batch1.spec.shape[0], *at.result.shape), at.result.dtype
    out = _temporary(at, shape, working(element))
    _multiply(at, _operand(at, batch1), _operand(at, batch2), out)
    domain = at.over(shape)
    if 0 in shape:
        kept, total = at.points(), at.terms.constant(0, element)
    else:
        kept, total = domain.reduce("add", domain.lower.load(out[1]), (0,)).kept(False)
    _store_sum(at, kept, self, total, beta, alpha)


@lowering("linalg_cross")
def cross(at: At, self: Value, other: Value, dim: int) -> None:
    """Three elements a row, each from the two others of both operands."""
    element = at.result.dtype
    if element.category != FLOATING:
        raise Unsupported("products of integers")
    whole = at.points()
    rank = len(whole.sizes)
    dim %= rank
    rows = at.over((*whole.sizes[:dim], 1, *whole.sizes[dim + 1 :]))
    spec = at.result
    target = at.lower.buffer(at.node.outputs[0])

    def component(value: Value, index: int) -> Expression:
        access = whole.window(value)
        steps = tuple([0 if loop == dim else step for loop, step in enumerate(access.strides)])
        offset = access.offset + index * access.strides[dim]
        return at.lower.load(Access(access.buffer, access.element, steps, offset)).to(element)

    for place, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        term = component(self, i) * component(other, j) - component(self, j) * component(other, i)
        rows.write(Access(target, element, spec.strides, place * spec.strides[dim]), term)
