"""Enters: an object and a connection to another process. Leaves: the object, on the other side.

Invariant: tensors and arrays travel as plain bytes beside the message that describes them. Small
messages go through the socket; large ones through memory of their own, which has no name in any
file system and vanishes with the last process that holds it. What arrives is ordinary memory: a
batch that is kept keeps no file open.

The bound is measured: up to about 256 KiB one write to the socket is fastest, at 1.5 MB memory
takes half the receiver's time, and at 19 MB likewise.
"""

from __future__ import annotations

import io
import os
import pickle
import socket
import struct
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy

from thunk.autograd.meta import requires_grad
from thunk.runtime.storage import Storage, adopt, allocate, array_of
from thunk.runtime.tensors import new_tensor
from thunk.tensor.copies import rebuild
from thunk.types.tensor_base import TensorBase

INLINE_BYTES = 256 * 1024
_ALIGNMENT = 64
_HEAD = struct.Struct("<?QI")  # in memory of its own?, bytes of the pickle, number of buffers
_MEMORY = hasattr(os, "memfd_create")


class _Pickler(ForkingPickler):
    """Pickles storages as buffers beside the stream, and views of large storages by themselves."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Storage):
            data = value.data
            if data is None:
                return Storage, (None,)
            return _storage_over, (pickle.PickleBuffer(data.data),)
        if isinstance(value, TensorBase) and _is_small_part(value):
            compact = new_tensor(*adopt(array_of(value._storage, value._spec).copy(order="K")))
            asks_grad, extras = requires_grad(value), dict(value.__dict__)
            return rebuild, (type(value), compact._storage, compact._spec, asks_grad, extras)
        return NotImplemented


def _is_small_part(tensor: TensorBase) -> bool:
    """Whether `tensor` looks at less than half of its memory."""
    spec = tensor._spec
    if spec.device.type != "cpu" or 0 in spec.strides:
        return False
    return bool(2 * spec.numel * spec.dtype.itemsize < tensor._storage.nbytes)


def _storage_over(buffer: Any) -> Storage:
    return Storage(numpy.frombuffer(buffer, numpy.uint8))


def packed(value: Any) -> tuple[bytes, list[memoryview]]:
    """A pickle of `value`, and the buffers that belong to it."""
    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    _Pickler(stream, 5, True, buffers.append).dump(value)
    return stream.getvalue(), [buffer.raw() for buffer in buffers]


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def send(connection: Connection, value: Any) -> None:
    """Send an object; whatever cannot be pickled raises before anything is sent."""
    text, buffers = packed(value)
    sizes = [buffer.nbytes for buffer in buffers]
    total = len(text) + sum(sizes)
    apart = _MEMORY and total > INLINE_BYTES
    head = _HEAD.pack(apart, len(text), len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes)
    if not apart:
        connection.send_bytes(b"".join([head, text, *buffers]))
        return
    memory = os.memfd_create("thunk-batch", os.MFD_CLOEXEC)
    try:
        offset = _write(memory, text, 0)
        for buffer in buffers:
            offset = _write(memory, buffer, offset)
        connection.send_bytes(head)
        with _channel(connection) as channel:
            socket.send_fds(channel, [b"m"], [memory])
    finally:
        os.close(memory)


def _channel(connection: Connection) -> socket.socket:
    """The socket under a connection, for what a connection cannot send."""
    channel = socket.socket(fileno=os.dup(connection.fileno()))
    # Copies share one description: a default timeout would make the connection non-blocking too.
    channel.setblocking(True)
    return channel


def _write(memory: int, data: bytes | memoryview, offset: int) -> int:
    """Write all of `data`; tells where the next buffer starts."""
    view = memoryview(data)
    end = offset + view.nbytes
    while offset < end:
        done = os.pwrite(memory, view, offset)
        offset += done
        view = view[done:]
    return _padded(end)


def receive(connection: Connection) -> Any:
    """The next object; raises EOFError if the other side is gone."""
    message = memoryview(connection.recv_bytes())
    apart, length, count = _HEAD.unpack_from(message)
    sizes = struct.unpack_from(f"<{count}Q", message, _HEAD.size)
    start = _HEAD.size + 8 * count
    if not apart:
        return _unpacked_inline(message[start:], length, sizes)
    with _channel(connection) as channel:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    if not descriptors:
        raise EOFError("expected the memory that belongs to a message, got none")
    try:
        return _unpacked_apart(descriptors[0], length, sizes)
    finally:
        os.close(descriptors[0])


def _unpacked_inline(body: memoryview, length: int, sizes: Sequence[int]) -> Any:
    buffers = []
    offset = length
    for size in sizes:
        buffer = allocate(size)
        buffer[:] = numpy.frombuffer(body, numpy.uint8, size, offset) if size else 0
        buffers.append(buffer)
        offset += size
    return pickle.loads(body[:length], buffers=buffers)


def _unpacked_apart(memory: int, length: int, sizes: Sequence[int]) -> Any:
    text = bytearray(length)
    offset = _read(memory, memoryview(text), 0)
    buffers = []
    for size in sizes:
        buffer = allocate(size)
        offset = _read(memory, buffer.data, offset)
        buffers.append(buffer)
    return pickle.loads(text, buffers=buffers)


def _read(memory: int, into: memoryview, offset: int) -> int:
    """Fill `into`; tells where the next buffer starts."""
    end = offset + into.nbytes
    while offset < end:
        done = os.preadv(memory, [into], offset)
        if not done:
            raise EOFError(f"expected {into.nbytes} more bytes in a message, got its end")
        offset += done
        into = into[done:]
    return _padded(end)
