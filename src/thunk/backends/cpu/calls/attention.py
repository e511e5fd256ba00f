"""Enters: layouts of queries, keys and values. Leaves: attention as one library call.

Blocks of queries are taken in turn, so memory for scores grows with one block, not with the square
of the length. The gradient computes the scores again from the logarithms of their sums.
Invariant: the same memory order of sums for every number of threads.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from dataclasses import dataclass
from typing import Any, Final

from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.call import BoundCall, LibraryCall, Operand, Words, in_order
from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.calls.pool import usable_threads
from thunk.backends.cpu.calls.specs import Accumulate, Matmul, PostOp, matmul
from thunk.backends.cpu.llvm.attention import (
    BACKWARD_PRODUCTS,
    BACKWARD_TENSORS,
    FORWARD_PRODUCTS,
    FORWARD_TENSORS,
    THREADS,
    Scratch,
    attention_function,
)
from thunk.backends.cpu.llvm.attention_rows import Rows, Sizes
from thunk.base.errors import expected
from thunk.types.dtype import float32

BLOCK: Final = 128
PAYS_FROM: Final = 512  # queries; below, the scores of a whole batch stay in the caches anyway
GRADIENTS: Final = ("grad_query", "grad_key", "grad_value")


@dataclass(frozen=True, slots=True)
class Attention:
    """softmax(scale * query @ key.T + mask) @ value, or its gradient.

    All are float32 with features that lie densely, `logarithms` has the shape of the result without
    its features. With `gradients`, the layouts of grad_out, grad_query, grad_key and grad_value,
    the call computes the last three.
    """

    query: Layout
    key: Layout
    value: Layout
    out: Layout
    mask: Layout | None = None
    scale: float = 1.0
    causal: bool = False
    gradients: tuple[Layout, Layout, Layout, Layout] | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        *batch, queries, features = self.query.shape
        keys, values = self.key.shape[-2], self.value.shape[-1]
        head = tuple(batch)
        shapes: dict[str, tuple[int, ...]] = {
            "key": (*head, keys, features),
            "value": (*head, keys, values),
            "out": (*head, queries, values),
            "grad_out": (*head, queries, values),
            "grad_query": self.query.shape,
            "grad_key": self.key.shape,
            "grad_value": self.value.shape,
        }
        for name, layout in self.tensors().items():
            if name in shapes and layout.shape != shapes[name]:
                raise expected(f"{name} of shape {shapes[name]}", layout.shape).named("attention")
            dense = layout.is_plain and layout.dtype is float32
            if not dense or (name != "mask" and layout.strides and layout.strides[-1] != 1):
                raise expected(f"{name} of float32 with dense features", layout).named("attention")
        if self.mask is not None:
            wide = itertools.zip_longest(
                reversed(self.mask.shape), reversed((*head, queries, keys)), fillvalue=0
            )
            if any(extent not in (1, full) for extent, full in wide if extent):
                raise expected("a mask that fits", self.mask.shape).named("attention")

    def tensors(self) -> dict[str, Layout]:
        """Layouts by name."""
        found = {"query": self.query, "key": self.key, "value": self.value}
        if self.mask is not None:
            found["mask"] = self.mask
        found["out"] = self.out
        found["logarithms"] = plain(self.out.shape[:-1], float32)
        if self.gradients is not None:
            found |= zip(("grad_out", *GRADIENTS), self.gradients)
        return found

    @property
    def pays(self) -> bool:
        """Whether this is faster than products of whole matrices."""
        return self.query.shape[-2] >= PAYS_FROM

    @property
    def flops(self) -> int:
        *batch, queries, features = self.query.shape
        keys, values = self.value.shape[-2:]
        pairs = math.prod(batch) * queries * keys // (2 if self.causal else 1)
        if self.gradients is None:
            return 2 * pairs * (features + values)
        return 2 * pairs * (3 * features + 2 * values)

    def __str__(self) -> str:
        kind = "attention" if self.gradients is None else "gradient of attention"
        extra = " causal" * self.causal + " masked" * (self.mask is not None)
        return f"{kind}{extra} {self.query} {self.key} {self.value} -> {self.out}"


def _stride(layout: Layout, axis: int) -> int:
    """Elements from one index of an axis to the next; 0 where it is broadcast."""
    assert layout.strides is not None
    if len(layout.shape) < -axis or layout.shape[axis] == 1:
        return 0
    return layout.strides[axis]


class AttentionCall(LibraryCall):
    """Attention by blocks of queries."""

    def __init__(self, spec: Attention) -> None:
        self.spec: Attention = spec
        self.threads = usable_threads(spec.threads)
        self.implementation = "own blocks of queries"
        tensors = spec.tensors()
        self.gradient = spec.gradients is not None
        written = set(GRADIENTS) if self.gradient else {"out", "logarithms"}
        self.sizes = self._sizes(tensors)
        self.products = self._products()
        self.scratch = self._scratch()
        operands = [
            Operand(name, layout, "write" if name in written else "read")
            for name, layout in tensors.items()
        ]
        self.operands = in_order(operands, self.scratch.whole * self.threads)

    def _sizes(self, tensors: dict[str, Layout]) -> Sizes:
        spec = self.spec
        *batch, queries, features = spec.query.shape
        keys, values = spec.value.shape[-2:]
        rows = {
            name: _stride(layout, -2)
            for name, layout in tensors.items()
            if name not in ("mask", "logarithms")
        }
        mask = (0, 0)
        if spec.mask is not None:
            mask = (_stride(spec.mask, -2), _stride(spec.mask, -1))
            if mask[1] not in (0, 1):
                raise expected("a mask whose rows are dense", spec.mask).named("attention")
        stride = -(-keys // 16) * 16
        return Sizes(
            math.prod(batch), queries, keys, features, values, min(BLOCK, max(queries, 1)), stride,
            spec.scale, spec.causal, Rows(rows), *mask,
        )  # fmt: skip

    def _extents(self, block: int) -> tuple[int, int]:
        """Queries of a block, and the keys that any of them attends to."""
        sizes = self.sizes
        first = block * sizes.block
        keys = min(sizes.keys, first + sizes.block) if sizes.causal else sizes.keys
        return min(sizes.block, sizes.queries - first), keys

    def _specs(self, count: int, keys: int) -> dict[str, Matmul]:
        """The products of a block of `count` queries."""
        sizes, rows = self.sizes, self.sizes.rows

        def matrix(name: str, height: int, width: int) -> Layout:
            return plain((height, width), float32, (rows[name], 1))

        scores = plain((count, keys), float32, (sizes.stride, 1))
        query = matrix("query", count, sizes.features)
        key = matrix("key", keys, sizes.features)
        value = matrix("value", keys, sizes.values)
        found = {"scores": matmul(query, key.transposed(), scores)}
        if not self.gradient:
            found["mixed"] = matmul(scores, value, matrix("out", count, sizes.values))
            return found
        adds: tuple[PostOp, ...] = (Accumulate(),)
        turned = scores.transposed()
        grad_out = matrix("grad_out", count, sizes.values)
        to_query, to_key = (
            matrix(f"grad_{name}", height, sizes.features)
            for name, height in (("query", count), ("key", keys))
        )
        to_value = matrix("grad_value", keys, sizes.values)
        found["shares"] = matmul(grad_out, value.transposed(), scores)
        found["values"] = matmul(turned, grad_out, to_value, post=adds)
        found["queries"] = matmul(scores, key, to_query)
        found["keys"] = matmul(turned, query, to_key, post=adds)
        return found

    def _products(self) -> dict[tuple[int, int], dict[str, LibraryCall]]:
        """The calls of each kind of block, for one thread."""
        kinds = dict.fromkeys(map(self._extents, range(self.sizes.blocks)))
        return {
            extents: {name: build(spec) for name, spec in self._specs(*extents).items()}
            for extents in kinds
        }

    def _scratch(self) -> Scratch:
        def rounded(nbytes: int) -> int:
            return -(-nbytes // 64) * 64

        scores = rounded(self.sizes.block * self.sizes.stride * 4)
        shares = scores
        factors = shares + (scores if self.gradient else 0)
        inner = factors + rounded(self.sizes.block * 4)
        calls = [each for kind in self.products.values() for each in kind.values()]
        most = max((call.scratchpad for call in calls), default=0)
        return Scratch(shares, factors, inner, inner + rounded(most) + 64)

    def bind(self) -> BoundCall:
        """The code with the products that each thread calls."""
        tensors: tuple[str, ...] = BACKWARD_TENSORS if self.gradient else FORWARD_TENSORS
        names: tuple[str, ...] = BACKWARD_PRODUCTS if self.gradient else FORWARD_PRODUCTS
        offsets = self._offsets(tensors)
        bound: list[BoundCall] = []
        pairs: list[int] = []
        for _ in range(self.threads):
            own = {
                extents: [calls[name].bind() for name in names]
                for extents, calls in self.products.items()
            }
            for block in range(self.sizes.blocks):
                for each in own[self._extents(block)]:
                    pairs += [each.function, each.context]
            bound += [each for calls in own.values() for each in calls]
        values = [self.threads, *offsets, *pairs]
        words: Words = (ctypes.c_int64 * len(values))(*values)
        positions = tuple((each.name, at) for at, each in enumerate(self.operands))
        function = attention_function(self.sizes, positions, self.scratch, self.gradient)
        return BoundAttention(function, words, self.threads, bound)

    def _offsets(self, names: tuple[str, ...]) -> list[int]:
        """Bytes to each member of each tensor."""
        layouts = self.spec.tensors()
        batch = self.spec.query.shape[:-2]
        found: list[int] = []
        for index in itertools.product(*map(range, batch)):
            for name in names:
                own = 1 if name == "logarithms" else 2
                start = 0
                if name in layouts:
                    axes = range(-own - len(batch), -own)
                    steps = (_stride(layouts[name], axis) for axis in axes)
                    start = sum(at * step for at, step in zip(index, steps))
                found.append(start * 4)
        return found


class BoundAttention(BoundCall):
    """Keeps the products; each belongs to one thread."""

    def __init__(
        self, function: int, words: Words, threads: int, products: list[BoundCall]
    ) -> None:
        self.products: Any = products
        super().__init__(function, words, threads)

    def become_serial(self) -> None:
        """In a forked child: one thread takes every block."""
        self.words[THREADS] = 1
