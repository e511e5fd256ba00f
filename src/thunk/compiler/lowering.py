"""Enters: nodes of a graph. Leaves: statements over loops, library calls and calls back, in order.

Invariant: `LOWERINGS` is the only table that says how a backend computes an operator; an operator
that is not in it, or whose lowering raises `Unsupported`, becomes a call back into its rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy

from thunk.compiler.access import Access, Buffer
from thunk.compiler.constants import Constants
from thunk.compiler.expression import Expression, Expressions, Unsupported, working
from thunk.compiler.statement import Statement
from thunk.dispatch.forced import is_fallback_forced
from thunk.ir.graph import Graph, Node, Scalar, Value, values_in
from thunk.types.dtype import dtype
from thunk.types.spec import TensorSpec, contiguous_strides

UNIFORM_COST = 12
_OF_NOTHING = {"add": 0, "mul": 1, "or": False, "and": True}
SPLIT_POINTS = 1 << 16
SPLIT_ROWS = 16
SPLIT_PARTS = 64


Lowering = Callable[..., None]
LOWERINGS: dict[str, Lowering] = {}


def lowering(*names: str) -> Callable[[Lowering], Lowering]:
    """Register the lowering of the primitives `names` ("add.Tensor")."""

    def add(function: Lowering) -> Lowering:
        for name in names:
            full_name = f"aten::{name}"
            if full_name in LOWERINGS:
                raise RuntimeError(f"{full_name}: expected one lowering, got a second")
            LOWERINGS[full_name] = function
        return function

    return add


class CallBack:
    """A node computed by its reference rule."""

    def __init__(self, node: Node, lower: Lower) -> None:
        self.node = node
        self.reads = list(dict.fromkeys(lower.buffer(each) for each in values_in(node.args)))
        self.results = [each for each in node.outputs if each.spec is not None]
        self.writes = [lower.buffer(each) for each in self.results]
        self.access = {each: lower.window(each) for each in values_in(node.args)}

    @property
    def name(self) -> str:
        return self.node.op.full_name


class LibraryCall:
    """A node computed by a native function of somebody else; see `docs/design/compiler.md`."""

    def __init__(
        self, name: str, operands: Sequence[Access], results: Sequence[Access], function: int,
        context: int, scratch: int, keep: object, where: str = "", flops: int = 0,
        failure: Callable[[int], BaseException] | None = None, changed: Sequence[Access] = (),
    ) -> None:  # fmt: skip
        self.name = name
        self.operands = list(operands)
        self.results = list(results)
        self.changed = list(changed)  # results that it reads, too
        self.function = function
        self.context = context
        self.scratch = scratch
        self.keep = keep
        self.where = where
        self.flops = flops
        self.failure = failure  # what a status other than 0 stands for
        self.space: Buffer | None = None

    @property
    def reads(self) -> list[Buffer]:
        return list(dict.fromkeys(each.buffer for each in (*self.operands, *self.changed)))

    @property
    def writes(self) -> list[Buffer]:
        return list(dict.fromkeys(each.buffer for each in self.results))


Item = Statement | CallBack | LibraryCall


class Failure(NamedTuple):
    """What a program raises at a status, and the user's lines that can be the reason."""

    kind: type[Exception]
    message: str
    lines: list[str]


class Lower:
    """Lowers one graph."""

    def __init__(self, graph: Graph, functions: frozenset[str] = frozenset()) -> None:
        self.graph = graph
        self.functions = functions
        self.terms = Expressions()
        self.items: list[Item] = []
        self.buffers: dict[Value, Buffer] = {}
        self.uniform: dict[Buffer, Expression] = {}
        self.counts: dict[str, int] = {}
        self.twins: dict[Value, dict[Any, Buffer]] = {}
        self.memory: dict[Any, Any] = {}  # what lowerings remember from node to node
        self.failures: list[Failure] = []
        self._where = ""
        self.constants = Constants()
        for index, value in enumerate(graph.inputs):
            self.buffers[value] = Buffer(f"in{index}", value.spec.dtype, _size(value.spec))

    def run(self) -> list[Item]:
        """Every node's items, in order."""
        for node in self.graph.nodes:
            if not node.op.view:
                self._node(node)
        return self.items

    def _node(self, node: Node) -> None:
        self._where = node.where
        if all(each.spec is None or each.spec.numel == 0 for each in node.outputs):
            return
        forced = is_fallback_forced(node.op.full_name)
        function = None if forced else LOWERINGS.get(node.op.full_name)
        before = len(self.items)
        if function is not None and not _has_complex(node):
            try:
                function(At(self, node), *node.args)
                return
            except Unsupported:
                del self.items[before:]
                for value in node.outputs:
                    if value in self.buffers:
                        self.uniform.pop(self.buffers[value], None)
        self.counts[node.op.full_name] = self.counts.get(node.op.full_name, 0) + 1
        self.items.append(CallBack(node, self))

    def buffer(self, value: Value) -> Buffer:
        """The memory of a value's root."""
        root = value.root
        found = self.buffers.get(root)
        if found is None:
            size = _size(root.spec)
            found = Buffer(f"b{len(self.buffers)}", root.spec.dtype, size)
            self.buffers[root] = found
        return found

    def temporary(self, element: dtype, size: int) -> Buffer:
        """Memory that no value of the graph has."""
        found = Buffer(f"b{len(self.buffers)}", element, size)
        self.buffers[Value(TensorSpec((size,), element, (1,)))] = found
        return found

    def window(self, value: Value) -> Access:
        """A value's elements, by its own dimensions."""
        spec = value.spec
        return Access(self.buffer(value), spec.dtype, spec.strides, spec.offset)

    def failure(self, kind: type[Exception], message: str) -> int:
        """The status by which a kernel says that the program must raise this."""
        for code, known in enumerate(self.failures, 1):
            if (known.kind, known.message) == (kind, message):
                known.lines.append(self._where)
                return code
        self.failures.append(Failure(kind, message, [self._where]))
        return len(self.failures)

    def emit(self, statement: Statement) -> None:
        if 0 in statement.sizes:
            return
        self.items.append(statement)
        if statement.whole and not any(statement.reduced) and _is_uniform(statement.value):
            self.uniform[statement.target.buffer] = statement.value
        else:
            self.uniform.pop(statement.target.buffer, None)

    def load(self, access: Access) -> Expression:
        """An element; of a buffer whose elements are all alike, what they are computed from."""
        known = self.uniform.get(access.buffer)
        if known is None or access.element is not access.buffer.element:
            return self.terms.load(access)
        rank = len(access.strides)
        still = (0,) * rank
        return self.terms.mapped(known, {}, lambda term: term.attribute.over(still))


class At:
    """Where a lowering stands: a node, and the means to read its operands and store results."""

    def __init__(self, lower: Lower, node: Node) -> None:
        self.lower = lower
        self.node = node
        self.terms = lower.terms
        self.spec = node.outputs[0].spec if node.outputs else None

    @property
    def result(self) -> TensorSpec:
        """The spec of the first result."""
        assert self.spec is not None
        return self.spec

    def over(self, sizes: Sequence[int]) -> Domain:
        """Loops of the given sizes."""
        return Domain(self, tuple(sizes))

    def points(self) -> Domain:
        """Loops over the first result."""
        return self.over(self.result.shape)

    def within(
        self, place: Expression, size: int, kind: type[Exception], message: str
    ) -> Expression:
        """A place, made 0 where it is not below `size`; there the program raises."""
        inside = (place >= 0) & (place < size)
        code = self.lower.failure(kind, message)
        return self.terms.check(inside, inside.where(place, 0), code)

    def math_known(self, names: str) -> None:
        """Raise `Unsupported` unless vector mathematics has all of the functions."""
        for name in names.split():
            if name not in self.lower.functions:
                raise Unsupported(name)


class Domain:
    """Loops of a lowering: terms are made and stored at their points."""

    def __init__(self, at: At, sizes: tuple[int, ...]) -> None:
        self.at = at
        self.sizes = sizes
        self.terms = at.terms
        self.lower = at.lower

    def window(self, value: Value) -> Access:
        """The operand broadcast to the loops."""
        spec = value.spec
        extra = len(self.sizes) - len(spec.shape)
        strides = [0] * extra
        for wanted, size, stride in zip(self.sizes[extra:], spec.shape, spec.strides, strict=True):
            if size not in (1, wanted):
                raise AssertionError(f"{spec.shape} does not broadcast to {self.sizes}")
            strides.append(0 if size == 1 else stride)
        return Access(self.lower.buffer(value), spec.dtype, tuple(strides), spec.offset)

    def read(self, value: Value) -> Expression:
        """An operand's element, in the type that it is computed in."""
        return self.lower.load(self.window(value))

    def read_along(self, value: Value, loops: Sequence[int]) -> Expression:
        """An operand whose dimensions are the given loops."""
        strides = [0] * len(self.sizes)
        for loop, stride in zip(loops, value.spec.strides, strict=True):
            strides[loop] = stride
        return self.read_as(value, tuple(strides))

    def read_as(self, value: Value, strides: tuple[int, ...]) -> Expression:
        """An operand's elements at the given steps along the loops."""
        spec = value.spec
        return self.lower.load(Access(self.lower.buffer(value), spec.dtype, strides, spec.offset))

    def operand(self, value: Any, element: dtype) -> Expression:
        """Any argument converted to `element`; half precision is rounded on the way."""
        if isinstance(value, Value):
            return self.read(value).to(element)
        return self.number(value, element).to(element)

    def scalar(self, value: Any, element: dtype) -> Expression:
        """As `operand`, but a lone number keeps the precision that is computed in."""
        if isinstance(value, Value) and value.spec.shape:
            return self.read(value).to(element)
        if isinstance(value, Value):
            from_memory = self.read(value)
            return from_memory.to(working(element))
        return self.number(value, element)

    def number(self, value: Any, element: dtype) -> Expression:
        """A constant or a runtime number."""
        if isinstance(value, Scalar):
            if value.kind is complex:
                raise Unsupported("a complex number")
            return self.terms.number(value.index, value.kind, element)
        if isinstance(value, complex):
            raise Unsupported("a complex number")
        return self.terms.constant(value, element)

    def table(self, array: numpy.ndarray, loops: Sequence[int]) -> Expression:
        """Numbers known now, by the given loops."""
        buffer = self.lower.constants.buffer(array)
        strides = [0] * len(self.sizes)
        for loop, stride in zip(loops, contiguous_strides(array.shape), strict=True):
            strides[loop] = stride
        return self.lower.load(Access(buffer, buffer.element, tuple(strides)))

    def place(self, loop: int) -> Expression:
        """The index of a loop."""
        strides = tuple([1 if each == loop else 0 for each in range(len(self.sizes))])
        return self.terms.place(strides)

    def store(self, term: Expression, index: int = 0) -> None:
        """Make the term result `index`, whose shape is the loops'."""
        value = self.at.node.outputs[index]
        spec = value.spec
        assert spec.shape == self.sizes, f"{spec.shape} is not {self.sizes}"
        self.write(Access(self.lower.buffer(value), spec.dtype, spec.strides), term)

    def scatter(
        self, target: Access, place: Expression, term: Expression, along: Sequence[int],
        combine: str = "",
    ) -> None:  # fmt: skip
        """Write, or combine, `term` at `target + place`, in the order of the loops `along`."""
        cut = tuple([each in along for each in range(len(self.sizes))])
        node = self.at.node
        self.lower.emit(
            Statement(
                self.sizes, cut, target, term.to(target.element), combine, node.where,
                node.op.full_name, place,
            )
        )  # fmt: skip

    def store_as(self, term: Expression, strides: tuple[int, ...], index: int) -> None:
        """Make the term result `index`, at the given steps along the loops."""
        value = self.at.node.outputs[index]
        self.write(Access(self.lower.buffer(value), value.spec.dtype, strides), term)

    def write(self, target: Access, term: Expression) -> None:
        """Store the term at every point."""
        self._emit(target, term.to(target.element), (False,) * len(self.sizes), "")

    def loops_of(self, axes: Sequence[int]) -> tuple[int, ...]:
        """The loops that walk dimensions."""
        return tuple(axes)

    def channel(self, access: Access) -> Access:
        """What moves along dimension 1 only, in loops over that dimension."""
        return access.over((access.strides[1],))

    def named(self, term: Expression, element: dtype | None = None) -> Expression:
        """The term as a value of its own, which loops may keep or compute again."""
        buffer = self.lower.temporary(element or term.dtype, prod(self.sizes))
        access = Access(buffer, buffer.element, contiguous_strides(self.sizes))
        self.write(access, term)
        return self.lower.load(access)

    def reduce(
        self, combine: str, term: Expression, dims: Sequence[int], element: dtype | None = None
    ) -> Row:
        """The term combined along loops; kept in `element`."""
        kept = element or term.dtype
        cut = tuple([each in dims for each in range(len(self.sizes))])
        split = self._split(cut)
        if split is not None:
            return self._reduce_in_parts(combine, term, cut, kept, split)
        return self.reduce_once(combine, term, dims, kept)

    def _split(self, cut: tuple[bool, ...]) -> tuple[int, int] | None:
        """A loop to cut in parts and how many, where a few rows are very long."""
        rows = prod([size for size, flag in zip(self.sizes, cut) if not flag])
        if rows >= SPLIT_ROWS or prod(self.sizes) < SPLIT_POINTS:
            return None
        for loop, flag in enumerate(cut):
            if flag:
                for parts in range(SPLIT_PARTS, 3, -1):
                    if self.sizes[loop] % parts == 0:
                        return loop, parts
        return None

    def _reduce_in_parts(
        self, combine: str, term: Expression, cut: tuple[bool, ...], element: dtype,
        split: tuple[int, int],
    ) -> Row:  # fmt: skip
        loop, parts = split
        sizes = (*self.sizes[:loop], parts, self.sizes[loop] // parts, *self.sizes[loop + 1 :])
        fine = self.at.over(sizes)

        def strides(old: tuple[int, ...]) -> tuple[int, ...]:
            step = old[loop]
            return (*old[:loop], step * sizes[loop + 1], step, *old[loop + 1 :])

        def leaf(term: Expression) -> Any:
            if term.op == "place":
                return strides(term.attribute[0]), term.attribute[1]
            return term.attribute.over(strides(term.attribute.strides))

        inner = self.terms.mapped(term, {}, leaf)
        dims = [each for each in range(len(sizes)) if (*cut[:loop], False, *cut[loop:])[each]]
        partial = fine.reduce_once(combine, inner, dims, term.dtype)
        rest = tuple([1 if flag else size for size, flag in zip(self.sizes, cut)])
        coarse = self.at.over((*rest[:loop], parts, *rest[loop + 1 :]))
        again = coarse.reduce_once(combine, partial.in_its(coarse, loop + 1), [loop], element)
        return Row(self, again.buffer, cut, _masked(again.strides, cut))

    def reduce_once(
        self, combine: str, term: Expression, dims: Sequence[int], element: dtype
    ) -> Row:
        """As `reduce`, in one go."""
        cut = tuple([each in dims for each in range(len(self.sizes))])
        rest = tuple([1 if flag else size for size, flag in zip(self.sizes, cut)])
        buffer = self.lower.temporary(element, prod(rest))
        strides = _masked(contiguous_strides(rest), cut)
        target = Access(buffer, element, strides)
        if 0 in [size for size, flag in zip(self.sizes, cut) if flag]:
            if combine not in _OF_NOTHING:
                raise Unsupported("nothing to reduce")
            nothing = self.terms.constant(_OF_NOTHING[combine], term.dtype)
            self.at.over(rest).write(target, nothing)
        else:
            self._emit(target, term, cut, combine)
        return Row(self, buffer, cut, strides)

    def _emit(
        self, target: Access, term: Expression, cut: tuple[bool, ...], combine: str
    ) -> None:
        node = self.at.node
        self.lower.emit(
            Statement(self.sizes, cut, target, term, combine, node.where, node.op.full_name)
        )


class Row:
    """The result of a reduction."""

    def __init__(
        self, domain: Domain, buffer: Buffer, cut: tuple[bool, ...], strides: tuple[int, ...]
    ) -> None:
        self.domain = domain
        self.buffer = buffer
        self.cut = cut
        self.strides = strides

    @property
    def access(self) -> Access:
        """The result in the loops that it was reduced from."""
        return Access(self.buffer, self.buffer.element, self.strides)

    def again(self) -> Expression:
        """As a term in the loops that it was reduced from."""
        return self.domain.lower.load(self.access)

    def in_its(self, domain: Domain, dropped: int) -> Expression:
        """As a term in loops from which one was dropped."""
        strides = (*self.strides[:dropped], *self.strides[dropped + 1 :])
        assert len(strides) == len(domain.sizes)
        return domain.lower.load(Access(self.buffer, self.buffer.element, strides))

    def kept(self, keepdim: bool) -> tuple[Domain, Expression]:
        """Loops over the result's shape, and the term in them."""
        pairs = list(zip(self.domain.sizes, self.strides, self.cut, strict=True))
        if keepdim:
            sizes = tuple([1 if flag else size for size, _, flag in pairs])
            strides = self.strides
        else:
            sizes = tuple([size for size, _, flag in pairs if not flag])
            strides = tuple([stride for _, stride, flag in pairs if not flag])
        domain = self.domain.at.over(sizes)
        access = Access(self.buffer, self.buffer.element, strides)
        return domain, domain.lower.load(access)


def _masked(strides: tuple[int, ...], cut: tuple[bool, ...]) -> tuple[int, ...]:
    return tuple([0 if flag else stride for stride, flag in zip(strides, cut, strict=True)])


def _size(spec: TensorSpec) -> int:
    return spec.extent()


def _has_complex(node: Node) -> bool:
    specs: list[Any] = [each.spec for each in (*node.outputs, *values_in(node.args))]
    return any(spec is not None and spec.dtype.is_complex for spec in specs)


def _is_uniform(term: Expression) -> bool:
    """Whether a term is the same at every point, and cheap to compute at each."""
    if term.cost > UNIFORM_COST:
        return False
    stack = [term]
    while stack:
        each = stack.pop()
        if each.op in ("place", "lookup", "guarded", "check"):
            return False
        if each.op == "load" and any(each.attribute.strides):
            return False
        stack += each.args
    return True


__all__ = ["LOWERINGS", "At", "CallBack", "Domain", "Failure", "Item", "LibraryCall", "Lower",
           "Row", "Unsupported", "lowering"]  # fmt: skip
