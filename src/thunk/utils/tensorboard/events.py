"""Enters: what happened at which step. Leaves: bytes of TensorBoard's event files.

Invariant: a file is a row of records, each with its length and checksums, each one event in the
protobuf encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy

_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5
_DT_STRING = 7


def _table() -> list[int]:
    made = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        made.append(value)
    return made


_TABLE = _table()


def checksum(data: bytes) -> int:
    """The masked CRC-32C of TensorFlow's record files."""
    value = 0xFFFFFFFF
    for byte in data:
        value = (value >> 8) ^ _TABLE[(value ^ byte) & 0xFF]
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + _MASK) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """One record of a file."""
    length = struct.pack("<Q", len(data))
    sums = (struct.pack("<I", checksum(each)) for each in (length, data))
    return length + next(sums) + data + next(sums)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def whole(number: int, value: int) -> bytes:
    """An integer field."""
    return _key(number, _VARINT) + _varint(value)


def double(number: int, value: float) -> bytes:
    """A field of eight bytes."""
    return _key(number, _DOUBLE) + struct.pack("<d", value)


def single(number: int, value: float) -> bytes:
    """A field of four bytes."""
    return _key(number, _FLOAT) + struct.pack("<f", value)


def inner(number: int, data: bytes | str) -> bytes:
    """A field of text, bytes or a message."""
    content = data.encode() if isinstance(data, str) else data
    return _key(number, _BYTES) + _varint(len(content)) + content


def doubles(number: int, values: Iterable[float]) -> bytes:
    """A field of many numbers."""
    return inner(number, b"".join(struct.pack("<d", value) for value in values))


def first_event(wall_time: float) -> bytes:
    """What every file begins with: its format."""
    return record(double(1, wall_time) + inner(3, "brain.Event:2"))


def event(wall_time: float, step: int, values: Iterable[bytes]) -> bytes:
    """Values of one step."""
    summary = b"".join(inner(1, value) for value in values)
    return record(double(1, wall_time) + whole(2, step) + inner(5, summary))


def scalar(tag: str, value: float) -> bytes:
    """A number under a name."""
    return inner(1, tag) + single(2, value)


def image(tag: str, height: int, width: int, channels: int, png: bytes) -> bytes:
    """A picture under a name."""
    body = whole(1, height) + whole(2, width) + whole(3, channels) + inner(4, png)
    return inner(1, tag) + inner(4, body)


def text(tag: str, content: str) -> bytes:
    """A text under a name, shown as Markdown."""
    metadata = inner(1, inner(1, "text"))
    shape = inner(2, whole(1, 1))
    tensor = whole(1, _DT_STRING) + inner(2, shape) + inner(8, content)
    return inner(1, f"{tag}/text_summary") + inner(9, metadata) + inner(8, tensor)


def histogram(tag: str, values: numpy.ndarray, bins: str | int = "auto") -> bytes:
    """How values are distributed, under a name."""
    flat = values.astype(numpy.float64).reshape(-1)
    if not flat.size:
        raise ValueError("add_histogram: expected values, got The input has no element.")
    edges = numpy.histogram_bin_edges(flat, bins=min(64, flat.size) if bins == "auto" else bins)
    counts, limits = numpy.histogram(flat, bins=edges)
    body = b"".join(
        double(number, float(value))
        for number, value in enumerate(
            (flat.min(), flat.max(), flat.size, flat.sum(), flat @ flat), 1
        )
    )
    body += doubles(6, [float(each) for each in limits[1:]])
    body += doubles(7, [float(each) for each in counts])
    return inner(1, tag) + inner(5, body)
