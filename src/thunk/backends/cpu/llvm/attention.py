"""Enters: the sizes of an attention. Leaves: code that computes it, a block of queries at a time.

Only one block of scores exists at once for each thread. The matrix products are calls whose
functions and contexts stand in the context; what is between them is here.
Words of a context: threads; for each member of the batch the byte offsets of its tensors; for each
thread and block of queries the products' functions and contexts.
Invariant: each member's sums are taken in the order of the blocks, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from llvmlite import ir

from thunk.backends.cpu.calls.native import native
from thunk.backends.cpu.calls.pool import openmp
from thunk.backends.cpu.llvm.attention_rows import Sizes, gradient_row, softmax_row
from thunk.backends.cpu.llvm.gemm_builder import POINTER, STATUS, WORD, Builder, Value, word

THREADS: Final = 0
HEAD: Final = 1
BYTE: Final = ir.IntType(8)
FORWARD_PRODUCTS: Final = ("scores", "mixed")
BACKWARD_PRODUCTS: Final = ("scores", "shares", "values", "queries", "keys")
FORWARD_TENSORS: Final = ("query", "key", "value", "mask", "out", "logarithms")
BACKWARD_TENSORS: Final = (
    "query", "key", "value", "mask", "out", "logarithms", "grad_out",
    "grad_query", "grad_key", "grad_value",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scratch:
    """Bytes from the start of a thread's memory to its parts, and of the whole."""

    shares: int
    factors: int
    inner: int
    whole: int


class _Part:
    """The share of one thread."""

    def __init__(
        self, module: Any, sizes: Sizes, tensors: Sequence[str], products: Sequence[str],
        positions: dict[str, int], scratch: Scratch,
    ) -> None:  # fmt: skip
        self.build = Builder(module, "part", (POINTER, POINTER, WORD, WORD), STATUS)
        self.sizes, self.tensors, self.products = sizes, tensors, products
        self.positions, self.scratch = positions, scratch
        self.pointers, self.context, self.thread, self.threads = self.build.arguments
        memory = self.build.pointer_at(self.pointers, word(positions["scratchpad"]))
        self.memory = self.bytes(memory, self.build.mul(self.thread, word(scratch.whole)))
        row = ir.ArrayType(POINTER, 4)
        self.table = self.build.slot(row, ir.Constant(row, ir.Undefined))
        self.failed = self.build.slot(STATUS, ir.Constant(STATUS, 0))

    def bytes(self, base: Value, offset: Value) -> Value:
        return self.build.at(base, BYTE, offset)

    def single(self, base: Value, index: Value) -> Value:
        return self.build.at(base, ir.FloatType(), index)

    def tasks(self, count: int) -> Any:
        """A loop over this thread's share of `count` tasks."""
        build = self.build
        share = build.ir.sdiv(build.add(word(count - 1), self.threads), self.threads)
        begin = build.mul(share, self.thread)
        return build.loop(begin, build.smaller(build.add(begin, share), word(count)))

    def start(self, tensor: str, member: Value) -> Value:
        """A member's first element; a null pointer for a tensor that is not there."""
        position = self.positions.get(tensor)
        if position is None:
            return ir.Constant(POINTER, None)
        base = self.build.pointer_at(self.pointers, word(position))
        index = self.build.add(
            self.build.mul(member, word(len(self.tensors))), word(self.tensors.index(tensor))
        )
        offsets = self.build.at(self.context, WORD, word(HEAD))
        return self.bytes(base, self.build.ir.load(self.build.at(offsets, WORD, index), typ=WORD))

    def product(self, name: str, block: Value, left: Value, right: Value, out: Value) -> None:
        """Run one of the products of a block."""
        build, sizes = self.build, self.sizes
        first = HEAD + sizes.members * len(self.tensors)
        number = build.add(build.mul(self.thread, word(sizes.blocks)), block)
        number = build.mul(number, word(2 * len(self.products)))
        number = build.add(number, word(first + 2 * self.products.index(name)))
        kind = ir.FunctionType(STATUS, (POINTER, POINTER)).as_pointer()
        function = build.ir.load(build.at(self.context, WORD, number), typ=kind)
        context = build.pointer_at(self.context, build.add(number, word(1)))
        inner = self.bytes(self.memory, word(self.scratch.inner))
        for index, value in enumerate((left, right, out, inner)):
            build.ir.store(value, build.at(self.table, POINTER, word(index)))
        status = build.ir.call(function, [self.table, context])
        held = build.ir.load(self.failed, typ=STATUS)
        build.ir.store(build.ir.or_(held, status), self.failed)

    def rows(self, block: Value) -> tuple[Value, Value, Value]:
        """First query of a block, how many, and how many keys any of them attends to."""
        build, sizes = self.build, self.sizes
        first = build.mul(block, word(sizes.block))
        count = build.smaller(word(sizes.block), build.ir.sub(word(sizes.queries), first))
        keys = word(sizes.keys)
        if sizes.causal:
            keys = build.smaller(keys, build.add(first, word(sizes.block)))
        return first, count, keys

    def mask_row(self, mask: Value, query: Value) -> Value:
        if "mask" not in self.positions:
            return mask
        return self.single(mask, self.build.mul(query, word(self.sizes.mask_row)))

    def valid(self, query: Value) -> Value:
        """How many keys a query attends to."""
        keys = word(self.sizes.keys)
        if not self.sizes.causal:
            return keys
        return self.build.smaller(keys, self.build.add(query, word(1)))

    def finish(self) -> Any:
        self.build.ir.ret(self.build.ir.load(self.failed, typ=STATUS))
        return self.build.function

    def forward(self, row_function: Any) -> Any:
        """Blocks of queries are independent."""
        build, sizes = self.build, self.sizes
        with self.tasks(sizes.members * sizes.blocks) as task:
            member = build.ir.sdiv(task, word(sizes.blocks))
            block = build.ir.srem(task, word(sizes.blocks))
            first, count, keys = self.rows(block)
            start = {name: self.start(name, member) for name in self.tensors}
            query = self.single(start["query"], build.mul(first, word(sizes.rows["query"])))
            out = self.single(start["out"], build.mul(first, word(sizes.rows["out"])))
            self.product("scores", block, query, start["key"], self.memory)
            factors = self.bytes(self.memory, word(self.scratch.factors))
            with build.loop(word(0), count) as row:
                at = build.add(first, row)
                build.ir.call(row_function, [
                    self.single(self.memory, build.mul(row, word(sizes.stride))), keys,
                    self.valid(at), self.mask_row(start["mask"], at),
                    self.single(start["logarithms"], at), self.single(factors, row),
                ])  # fmt: skip
            self.product("mixed", block, self.memory, start["value"], out)
            with build.loop(word(0), count) as row:
                factor = build.ir.load(self.single(factors, row), typ=ir.FloatType())
                line = self.single(out, build.mul(row, word(sizes.rows["out"])))
                with build.loop(word(0), word(sizes.values)) as column:
                    place = self.single(line, column)
                    value = build.ir.load(place, typ=ir.FloatType())
                    build.ir.store(build.ir.fmul(value, factor), place)
        return self.finish()

    def backward(self, row_function: Any) -> Any:
        """Members are independent; gradients of keys and values add up over a member's blocks."""
        build, sizes = self.build, self.sizes
        with self.tasks(sizes.members) as member:
            start = {name: self.start(name, member) for name in self.tensors}
            for name, width in (("grad_key", sizes.features), ("grad_value", sizes.values)):
                self._clear(start[name], sizes.rows[name], width)
            with build.loop(word(0), word(sizes.blocks)) as block:
                self._gradients(block, start, row_function)
        return self.finish()

    def _clear(self, base: Value, stride: int, width: int) -> None:
        build = self.build
        with build.loop(word(0), word(self.sizes.keys)) as row:
            line = self.single(base, build.mul(row, word(stride)))
            with build.loop(word(0), word(width)) as column:
                build.ir.store(ir.Constant(ir.FloatType(), 0.0), self.single(line, column))

    def _gradients(self, block: Value, start: dict[str, Value], row_function: Any) -> None:
        """What one block of queries adds."""
        build, sizes = self.build, self.sizes
        first, count, keys = self.rows(block)
        query, out, grad_out, grad_query = (
            self.single(start[name], build.mul(first, word(sizes.rows[name])))
            for name in ("query", "out", "grad_out", "grad_query")
        )
        shares = self.bytes(self.memory, word(self.scratch.shares))
        self.product("scores", block, query, start["key"], self.memory)
        self.product("shares", block, grad_out, start["value"], shares)
        with build.loop(word(0), count) as row:
            at = build.add(first, row)
            line = build.mul(row, word(sizes.stride))
            build.ir.call(row_function, [
                self.single(self.memory, line), self.single(shares, line), keys, self.valid(at),
                self.mask_row(start["mask"], at), self.single(start["logarithms"], at),
                self.single(out, build.mul(row, word(sizes.rows["out"]))),
                self.single(grad_out, build.mul(row, word(sizes.rows["grad_out"]))),
            ])  # fmt: skip
        self.product("values", block, self.memory, grad_out, start["grad_value"])
        self.product("queries", block, shares, start["key"], grad_query)
        self.product("keys", block, shares, query, start["grad_key"])


def _entry(module: Any, part: Any, threaded: bool) -> None:
    """The function that everybody calls."""
    kind = ir.ArrayType(WORD, 3)  # pointers, context, what failed
    build = Builder(module, "attention", (POINTER, POINTER), STATUS, inner=False)
    pointers, context = build.arguments
    if threaded:
        body = Builder(module, "body", (POINTER,))
        (shared,) = body.arguments
        numbers = [
            body.ir.zext(body.intrinsic(name, STATUS), WORD)
            for name in ("omp_get_thread_num", "omp_get_num_threads")
        ]
        both = [body.pointer_at(shared, word(index)) for index in (0, 1)]
        status = body.ir.zext(body.ir.call(part, [*both, *numbers]), WORD)
        body.ir.atomic_rmw("or", body.at(shared, WORD, word(2)), status, "monotonic")
        body.ir.ret_void()
        threads = build.word_at(context, THREADS)
        with build.ir.if_then(build.ir.icmp_signed(">", threads, word(1))):
            shared = build.slot(kind, ir.Constant(kind, [0, 0, 0]))
            build.ir.store(pointers, build.at(shared, POINTER, word(0)))
            build.ir.store(context, build.at(shared, POINTER, word(1)))
            count, zero = build.ir.trunc(threads, STATUS), ir.Constant(STATUS, 0)
            fork = (body.function, shared, count, zero)
            build.intrinsic("GOMP_parallel", ir.VoidType(), *fork)
            build.ir.ret(build.ir.trunc(build.word_at(shared, 2), STATUS))
    build.ir.ret(build.ir.call(part, [pointers, context, word(0), word(1)]))


def attention_function(
    sizes: Sizes, positions: tuple[tuple[str, int], ...], scratch: Scratch, backward: bool
) -> int:
    """The address of `int (void **pointers, void *context)`."""
    return _function(sizes, positions, scratch, backward, openmp() is not None)


@native("attention", vectorise=True)
def _function(
    sizes: Sizes, positions: tuple[tuple[str, int], ...], scratch: Scratch, backward: bool,
    threaded: bool,
) -> str:  # fmt: skip
    module = ir.Module("attention")
    tensors = BACKWARD_TENSORS if backward else FORWARD_TENSORS
    products = BACKWARD_PRODUCTS if backward else FORWARD_PRODUCTS
    row = (gradient_row if backward else softmax_row)(module, sizes, "mask" in dict(positions))
    part = _Part(module, sizes, tensors, products, dict(positions), scratch)
    function = part.backward(row) if backward else part.forward(row)
    _entry(module, function, threaded)
    return str(module)
