"""Enters: a file in the IDX format of MNIST, plain or gzipped. Leaves: an array of its numbers.

Invariant: a file that is not exactly what its header says is refused.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy

# By the header's third byte; numbers are big-endian.
_ELEMENTS = {
    0x08: ">u1",
    0x09: ">i1",
    0x0B: ">i2",
    0x0C: ">i4",
    0x0D: ">f4",
    0x0E: ">f8",
}
_GZIP = b"\x1f\x8b"


def _contents(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == _GZIP else data


def read_idx(path: str | Path) -> numpy.ndarray:
    """The array in an IDX file."""
    data = _contents(Path(path))
    code, rank = (data[2], data[3]) if len(data) >= 4 else (0, 0)
    start = 4 + 4 * rank
    if data[:2] != b"\0\0" or code not in _ELEMENTS or len(data) < start:
        raise ValueError(f"read_idx: expected an IDX header in {path}, got {data[:4].hex()}")
    element = numpy.dtype(_ELEMENTS[code])
    shape = tuple(int(size) for size in numpy.frombuffer(data, ">u4", rank, 4))
    needed = start + element.itemsize * int(numpy.prod(shape, dtype=object))
    if len(data) != needed:
        raise ValueError(
            f"read_idx: expected {needed} bytes for shape {shape} in {path}, got {len(data)}; the "
            "file is cut short or damaged"
        )
    values = numpy.frombuffer(data, element, offset=start).reshape(shape)
    return values.astype(element.newbyteorder("="))
