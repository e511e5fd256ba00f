"""Enters: specs of matrix products of float32 or float64 in plain layouts. Leaves: own kernels.

Invariant: the result's columns lie densely, or the result is one column.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from typing import Any, Final

from thunk.backends.cpu.blas.find import blas
from thunk.backends.cpu.calls.call import BoundCall, LibraryCall, Operand, Words, in_order
from thunk.backends.cpu.calls.layout import Layout
from thunk.backends.cpu.calls.pool import usable_threads
from thunk.backends.cpu.calls.specs import Accumulate, Matmul, Relu
from thunk.backends.cpu.llvm.gemm import gemm_function
from thunk.backends.cpu.llvm.gemm_context import Split, Way, Word, scratch_bytes
from thunk.backends.cpu.llvm.gemm_tile import ACCUMULATE, BIAS, RELU

FORK_FLOPS: Final = 1 << 18  # below this much work per thread a fork costs more than it saves
RESIDENT_BYTES: Final = 1 << 19  # a right matrix that stays in the second cache needs no panels


def mode_of(spec: Matmul) -> int | None:
    """The post-ops as bits of a mode; None if they are others, or in another order."""
    mode = BIAS if spec.bias is not None else 0
    post = list(spec.post)
    if post and isinstance(post[0], Accumulate):
        mode |= ACCUMULATE
        post = post[1:]
    if post and isinstance(post[0], Relu):
        mode |= RELU
        post = post[1:]
    return None if post else mode


def is_direct(spec: Matmul) -> bool:
    """Whether the kernels can compute `spec` as it stands."""
    layouts = (spec.left, spec.right, spec.out)
    if any(not each.is_plain for each in layouts) or mode_of(spec) is None:
        return False
    dense = _strides(spec.out)[-1] == 1 or spec.out.shape[-1] == 1
    row = spec.bias is None or _strides(spec.bias) == (1,) or spec.bias.shape == (1,)
    names = {each.dtype.name for each in (*layouts, *([spec.bias] if spec.bias else []))}
    return dense and row and len(names) == 1 and names <= {"float32", "float64"}


def _strides(layout: Layout) -> tuple[int, ...]:
    assert layout.strides is not None
    return layout.strides


def way_of(spec: Matmul) -> Way:
    """The fastest way, by the layouts and sizes."""
    left, right = _strides(spec.left), _strides(spec.right)
    inner_dense = left[-1] == 1 and right[-2] == 1
    rows, size = spec.out.shape[-2], spec.right.dtype.itemsize
    bytes_of_right = math.prod(spec.right.shape[-2:]) * size
    if inner_dense and (rows < 8 or spec.inner >= 4 * rows):
        return Way.DOT
    if spec.inner == 0:
        return Way.SPREAD  # the right matrix is not read
    if right[-1] == 1 and (rows < 8 or bytes_of_right <= RESIDENT_BYTES):
        return Way.SPREAD
    turned = right[-1] != 1 and right[-2] == 1
    taken = turned and _is_blas(spec.left) and _is_blas(spec.right) and blas().found
    return Way.BLAS if taken else Way.PACKED


def _is_blas(matrix: Layout) -> bool:
    """Whether lines lie densely and apart: BLAS knows neither repeated nor overlapping ones."""
    (rows, columns), (down, across) = matrix.shape[-2:], _strides(matrix)[-2:]
    if across == 1:
        return down >= columns or rows == 1
    return down == 1 and (across >= rows or columns == 1)


def _split(spec: Matmul, threads: int) -> tuple[Split, int]:
    """What is divided among how many threads."""
    threads = min(threads, max(1, spec.flops // FORK_FLOPS))
    batch, rows = math.prod(spec.out.shape[:-2]), spec.out.shape[-2]
    if threads == 1 or batch % threads == 0:
        return Split.BATCH, threads
    if rows >= 24 * threads:
        return Split.ROWS, threads
    return Split.COLUMNS, threads


def _offsets(spec: Matmul) -> list[int]:
    """Byte offsets of left, right and result for each member of the batch."""
    offsets: list[int] = []
    for index in itertools.product(*map(range, spec.out.shape[:-2])):
        for layout in (spec.left, spec.right, spec.out):
            places = zip(index, layout.shape, _strides(layout))
            start = sum(at * stride for at, extent, stride in places if extent > 1)
            offsets.append(start * layout.dtype.itemsize)
    return offsets


class Product(LibraryCall):
    """A matrix product by own kernels."""

    def __init__(self, spec: Matmul, way: Way | None = None) -> None:
        if not is_direct(spec):
            raise ValueError(f"product: expected one element type and dense rows, got {spec}")
        self.spec: Matmul = spec
        self.way = way_of(spec) if way is None else way
        self.split, self.threads = _split(spec, usable_threads(spec.threads))
        own = f"own {self.way.name.lower()}"
        self.implementation = str(blas()) if self.way is Way.BLAS else own
        mode = mode_of(spec)
        assert mode is not None
        self.mode = mode
        operands = [Operand("left", spec.left, "read"), Operand("right", spec.right, "read")]
        if spec.bias is not None:
            operands.append(Operand("bias", spec.bias, "read"))
        access: Any = "update" if mode & ACCUMULATE else "write"
        operands.append(Operand("out", spec.out, access))
        size = spec.out.dtype.itemsize
        scratch = scratch_bytes(size, self.threads) if self.way is Way.PACKED else 0
        self.operands = in_order(operands, scratch)

    def bind(self) -> BoundCall:
        """The kernel with its sizes."""
        spec, size = self.spec, self.spec.out.dtype.itemsize
        left, right, out = map(_strides, (spec.left, spec.right, spec.out))
        rows, columns = spec.out.shape[-2:]
        positions = {operand.name: at for at, operand in enumerate(self.operands)}
        head = {
            Word.THREADS: self.threads,
            Word.ROWS: rows,
            Word.COLUMNS: columns,
            Word.INNER: spec.inner,
            Word.LEFT_DOWN: left[-2],
            Word.LEFT_ACROSS: left[-1],
            Word.RIGHT_DOWN: right[-2],
            Word.RIGHT_ACROSS: right[-1],
            Word.OUT_DOWN: out[-2],
            Word.MODE: self.mode,
            Word.BATCH: math.prod(spec.out.shape[:-2]),
            Word.SPLIT: self.split,
            Word.OUT_AT: positions["out"],
            Word.BIAS_AT: positions.get("bias", 0),
            Word.SCRATCH_AT: positions.get("scratchpad", 0),
            Word.FUNCTION: blas().gemm(size) if self.way is Way.BLAS else 0,
        }
        values = [*[head[each] for each in Word if each is not Word.END], *_offsets(spec)]
        words: Words = (ctypes.c_int64 * len(values))(*values)
        return BoundProduct(gemm_function(size, self.way), words, self.threads)


class BoundProduct(BoundCall):
    """Own kernels read the number of threads from their context."""

    def become_serial(self) -> None:
        """In a forked child: one thread does what several did, in the same order."""
        self.words[Word.THREADS] = 1
