"""Enters: NumPy memory. Leaves: `Storage`, the identity of a block of memory, and windows into it.

Invariant: `data` is a flat byte array; every tensor that shares memory shares the `Storage` object.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy

from thunk.types.dtype import from_numpy_dtype
from thunk.types.spec import TensorSpec

Bytes = numpy.ndarray


class Storage:
    """A block of memory. `data` is None for tensors that have no values (the meta device).

    While a lazy trace holds newer contents than the memory, `trace` is that trace: whoever asks for
    `data` has it computed first. `node` and `home` say which value of the trace is the contents and
    in which geometry; `plain` and `tracked` are what a trace needs to know of a leaf over it,
    without and with gradients; `users` counts tensors of the trace that look into it. `foreign`
    marks memory that others can write to or read behind our back, `pinned` memory whose address
    somebody knows.

    Runs may be under way: `launch` is the one that fills the memory, `reader` the last one that
    reads it. Whoever looks at the contents waits for the first, whoever may change them for both.
    """

    __slots__ = (
        "__weakref__", "_data", "foreign", "home", "launch", "node", "pinned", "plain", "reader",
        "resizable", "trace", "tracked", "users",
    )  # fmt: skip

    def __init__(self, data: Bytes | None, resizable: bool = True, foreign: bool = False) -> None:
        self._data = data
        self.resizable = resizable
        self.foreign = foreign
        self.trace: Any = None
        self.node: Any = None
        self.home: TensorSpec | None = None
        self.plain: Any = None
        self.tracked: Any = None
        self.users = 0
        self.pinned = False
        self.launch: Any = None
        self.reader: Any = None

    @property
    def data(self) -> Bytes | None:
        """The memory, filled."""
        if self.trace is not None:
            self.trace.materialise()
        if self.launch is not None:
            self.launch.settle(self)
        return self._data

    @data.setter
    def data(self, value: Bytes | None) -> None:
        self._data = value
        self.launch = self.reader = None

    @property
    def memory(self) -> Bytes | None:
        """The memory, to be passed on to the next run; a run under way may still fill it."""
        if self.trace is not None:
            self.trace.materialise()
        return self._data

    def writable(self) -> Bytes | None:
        """The memory for a write that happens now; reads of the old contents come first."""
        if self.node is not None:
            self.node.trace.materialise()
        data = self.data
        if self.reader is not None:
            self.reader.finish()
            self.reader = None
        return data

    def share(self) -> None:
        """From here on others may write to this memory, or expect to see what is written to it."""
        self.writable()
        self.foreign = True

    @property
    def existed(self) -> bool:
        """Whether there was memory before the trace that holds newer contents."""
        return self._data is not None

    def snapshot(self) -> Bytes | None:
        """The present contents for a run, safe from whoever shares the memory."""
        if not self.foreign:
            return self.memory
        data = self.data
        return None if data is None else data.copy()

    def receive(self, data: Bytes, launch: Any = None) -> None:
        """Take new contents over; shared memory is written in place, so that others see it."""
        if data is self._data:
            self.launch = launch
        elif (self.foreign or self.pinned) and self._data is not None:
            if launch is not None and not launch.finish():
                return
            self._data[: data.nbytes] = data[: self._data.nbytes]
        else:
            self._data = data
            self.launch = launch

    def forget_trace(self) -> None:
        """The trace that knew this storage was cut."""
        self.trace = None
        self.node = None
        self.users = 0

    def __reduce__(self) -> tuple[Any, ...]:
        data = self.data
        return _restored, (None if data is None else data.tobytes(),)

    @property
    def nbytes(self) -> int:
        memory = self.memory
        return 0 if memory is None else memory.nbytes

    def resize(self, nbytes: int) -> None:
        """Grow or shrink in place; the bytes that remain keep their values."""
        if not self.resizable:
            raise RuntimeError(
                "resize_: expected storage that is resizable, got memory owned by another library; "
                "clone() the tensor first"
            )
        fresh = allocate(nbytes)
        data = self.writable()
        if data is not None:
            kept = min(nbytes, data.nbytes)
            fresh[:kept] = data[:kept]
        self.data = fresh
        self.home = self.plain = self.tracked = None  # a trace knew it in another geometry


def _restored(data: bytes | None) -> Storage:
    """The storage that was pickled as `data`."""
    if data is None:
        return Storage(None)
    memory = allocate(len(data))
    memory[:] = numpy.frombuffer(data, numpy.uint8)
    return Storage(memory)


_ALIGNMENT = 64
_SMALL = 1 << 10  # below this, finding an aligned address costs more than the memory
_SLAB = 1 << 14


class _Slab(threading.local):
    """Memory that small blocks are taken from in turn; it is kept while one of them lives."""

    def __init__(self) -> None:
        self.memory = numpy.empty(0, numpy.uint8)
        self.used = 0


_slab = _Slab()


def allocate(nbytes: int) -> Bytes:
    """Uninitialised memory, aligned for vector loads."""
    if nbytes > _SMALL:
        return _aligned(nbytes)
    start = _slab.used
    if start + nbytes > _slab.memory.nbytes:
        _slab.memory, start = _aligned(_SLAB), 0
    _slab.used = (start + nbytes + _ALIGNMENT - 1) & -_ALIGNMENT
    return _slab.memory[start : start + nbytes]


def _aligned(nbytes: int) -> Bytes:
    block = numpy.empty(nbytes + _ALIGNMENT - 1, dtype=numpy.uint8)
    skip = -block.ctypes.data % _ALIGNMENT
    return block[skip : skip + nbytes]


def storage_for(spec: TensorSpec) -> Storage:
    """Uninitialised storage that holds the window of `spec`."""
    if spec.device.type == "meta":
        return Storage(None)
    return Storage(allocate(spec.extent() * spec.dtype.itemsize))


def copy_of(storage: Storage, spec: TensorSpec) -> Bytes:
    """A copy of the memory from the first to the last element that `spec` shows."""
    data = storage.data
    assert data is not None
    itemsize = spec.dtype.itemsize
    first, last = spec.offset * itemsize, spec.extent() * itemsize
    fresh = allocate(last - first)
    fresh[:] = data[first:last]
    return fresh


def array_of(storage: Storage, spec: TensorSpec) -> numpy.ndarray:
    """The NumPy array that is the window `spec` into `storage`; shares its memory."""
    if storage.data is None:
        raise NotImplementedError(
            "expected a tensor with values, got one on the meta device; create it on the cpu"
        )
    itemsize = spec.dtype.itemsize
    if 0 in spec.shape:
        return numpy.empty(spec.shape, dtype=spec.dtype.numpy)
    window: numpy.ndarray = numpy.ndarray(
        spec.shape,
        dtype=spec.dtype.numpy,
        buffer=storage.data,
        offset=spec.offset * itemsize,
        strides=tuple(stride * itemsize for stride in spec.strides),
    )
    return window


def adopt(array: numpy.ndarray, resizable: bool = False) -> tuple[Storage, TensorSpec]:
    """Storage and spec that share `array`'s memory. Strides must be whole and not negative.

    Memory that is not `resizable` is somebody else's too.
    """
    element = from_numpy_dtype(array.dtype)
    if array.dtype.byteorder not in "=|<" and array.size:
        raise ValueError("from_numpy: expected native byte order, got swapped; use .astype first")
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "from_numpy: expected strides that are not negative, got a reversed array; "
            "use array.copy() first"
        )
    if any(stride % element.itemsize for stride in array.strides):
        raise ValueError(
            "from_numpy: expected strides that are a multiple of the item size, "
            f"got {array.strides}; use array.copy() first"
        )
    strides = tuple(stride // element.itemsize for stride in array.strides)
    spec = TensorSpec(tuple(array.shape), element, strides)
    if array.size == 0:
        return Storage(allocate(0), resizable), spec.with_shape(spec.shape)
    flat = numpy.lib.stride_tricks.as_strided(array, (spec.extent(),), (element.itemsize,))
    return Storage(flat.view(numpy.uint8), resizable, foreign=not resizable), spec
