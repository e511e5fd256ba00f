"""Enters: specs. Leaves: built calls, by the provider that is fastest for them.

Invariant: every valid spec in plain or free layouts can be built: where oneDNN has no code of its
own for it, or is not there, own kernels and BLAS serve it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from weakref import WeakValueDictionary

from thunk.backends.cpu.blas.call import OwnCall
from thunk.backends.cpu.blas.product import Product, is_direct, way_of
from thunk.backends.cpu.calls.call import LibraryCall
from thunk.backends.cpu.calls.pool import is_forked
from thunk.backends.cpu.calls.specs import CallSpec, Convolution, Matmul, Reorder
from thunk.backends.cpu.llvm.gemm_context import Way
from thunk.backends.cpu.onednn.api import LibraryError
from thunk.backends.cpu.onednn.call import OneDnnCall
from thunk.backends.cpu.onednn.codes import DATA_TYPES
from thunk.backends.cpu.onednn.find import status
from thunk.backends.cpu.onednn.reordered import ReorderedCall, can_reorder
from thunk.base.config import config
from thunk.types.dtype import dtype

SLOW: Final = ("ref", "gemm:ref")  # the library's own names for code that is only correct
SLOWER: Final = (*SLOW, "x64:gemm", "gemm")  # half as fast as in the library's own layouts
WORTH_REORDERS: Final = {True: 5, False: 14}  # flops a byte that is moved; True: instead of columns
FEW_CHANNELS: Final = 8  # gradients of images with so few waste most of a block
SERIAL_FLOPS: Final = 1 << 19  # with less work a fork costs more than it saves
SERIAL_BYTES: Final = 1 << 18
SMALL_FLOPS: Final = 1 << 20  # with less work own kernels are ahead of the library's overhead
TINY_FLOPS: Final = 1 << 14
FEW_ROWS: Final = 4  # as in the products of a decoder that makes one word at a time


_built: Final[WeakValueDictionary[tuple[Any, ...], LibraryCall]] = WeakValueDictionary()


def build(spec: CallSpec) -> LibraryCall:
    """The call that serves `spec`; while one lives, the same."""
    key = (spec, config.onednn, config.blas, is_forked())
    found = _built.get(key)
    if found is None:
        found = _built[key] = _build(spec)
    return found


def _build(spec: CallSpec) -> LibraryCall:
    spec = replace(spec, threads=_useful_threads(spec))
    if isinstance(spec, Matmul) and _own_is_faster(spec):
        return Product(spec)
    if not status().found or _element_type(spec) not in DATA_TYPES or _is_empty(spec):
        return OwnCall(spec)
    call: LibraryCall | None
    try:
        call = OneDnnCall(spec)
    except LibraryError:
        call = None
    if isinstance(spec, Convolution) and (call is None or call.implementation.startswith(SLOWER)):
        call = _reordered(spec, call is None or call.implementation.startswith(SLOW)) or call
    if call is None or (call.implementation.startswith(SLOW) and not isinstance(spec, Reorder)):
        return OwnCall(spec)
    return call


def _reordered(spec: Convolution, instead_of_columns: bool) -> LibraryCall | None:
    """The convolution in better layouts, if that is worth the reorders."""
    few = spec.direction == "image" and spec.split_shape[2] < FEW_CHANNELS
    if few or not can_reorder(spec):
        return None
    try:
        call = ReorderedCall(spec)
    except LibraryError:
        return None
    worth = call.flops_of_moved_byte >= WORTH_REORDERS[instead_of_columns]
    return call if worth and not call.implementation.startswith(SLOWER) else None


def _useful_threads(spec: CallSpec) -> int:
    if isinstance(spec, Reorder):
        return spec.threads if spec.source.nbytes >= SERIAL_BYTES else 1
    return spec.threads if spec.flops >= SERIAL_FLOPS else 1


def _own_is_faster(spec: Matmul) -> bool:
    """Measured: see benchmarks/micro/library_calls.py."""
    if not is_direct(spec):
        return False
    way, rows = way_of(spec), spec.out.shape[-2]
    if spec.flops <= TINY_FLOPS:
        return True
    if way is Way.DOT:
        return rows <= FEW_ROWS
    return way is Way.SPREAD and (rows == 1 or spec.flops <= SMALL_FLOPS)


def _element_type(spec: CallSpec) -> dtype:
    """The element type that decides who can serve a spec."""
    if isinstance(spec, Reorder):
        return spec.source.dtype
    return spec.image.dtype if isinstance(spec, Convolution) else spec.left.dtype


def _is_empty(spec: CallSpec) -> bool:
    """Whether an operand has no elements: the library leaves results of empty sums unwritten."""
    if isinstance(spec, Reorder):
        return 0 in spec.source.shape
    if isinstance(spec, Convolution):
        return 0 in spec.image.shape or 0 in spec.result.shape or 0 in spec.split_shape
    return 0 in spec.out.shape or not spec.inner
