"""Enters: pixels. Leaves: the bytes of a PNG file.

Invariant: needs nothing but zlib; 8 bits a channel, grey, grey with alpha, RGB or RGBA, unfiltered
rows.
"""

from __future__ import annotations

import struct
import zlib

import numpy

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def encoded(pixels: numpy.ndarray, level: int = 6) -> bytes:
    """A PNG of height x width x channels bytes."""
    height, width, channels = pixels.shape
    if pixels.dtype != numpy.uint8 or channels not in _COLOUR_TYPES:
        raise ValueError(
            f"png: expected bytes of 1 to 4 channels, got {pixels.dtype} of {channels}; convert to "
            "uint8 of height x width x channels first"
        )
    rows = numpy.zeros((height, 1 + width * channels), numpy.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    body = zlib.compress(rows.tobytes(), level)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")
