"""Event files hold what was added, framed and encoded as TensorBoard reads it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import thunk
from thunk.utils.tensorboard import SummaryWriter, events


def fields(data: bytes) -> list[tuple[int, Any]]:
    """A protobuf message, taken apart by its wire format."""
    found: list[tuple[int, Any]] = []
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value: Any = varint()
        elif kind == 1:
            value, place = struct.unpack_from("<d", data, place)[0], place + 8
        elif kind == 5:
            value, place = struct.unpack_from("<f", data, place)[0], place + 4
        else:
            size = varint()
            value, place = data[place : place + size], place + size
        found.append((key >> 3, value))
    return found


def one(message: bytes, *path: int) -> Any:
    """The first field at a path of field numbers."""
    value: Any = message
    for number in path:
        value = next(inner for key, inner in fields(value) if key == number)
    return value


def read(folder: Path) -> list[bytes]:
    """The events of a folder's file; checksums are checked."""
    (path,) = folder.glob("events.out.tfevents.*")
    data, found = path.read_bytes(), []
    while data:
        length, first = data[:8], struct.unpack("<I", data[8:12])[0]
        size = struct.unpack("<Q", length)[0]
        content, second = data[12 : 12 + size], struct.unpack("<I", data[12 + size : 16 + size])[0]
        assert first == events.checksum(length)
        assert second == events.checksum(content)
        found.append(content)
        data = data[16 + size :]
    return found


def test_the_checksum_is_crc32c() -> None:
    plain = 0xE3069283  # of the digits 1 to 9, by the standard
    assert events.checksum(b"123456789") == ((plain >> 15 | plain << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_scalars_texts_and_settings(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", thunk.tensor(0.5), 7, walltime=3.0)
        writer.add_text("note", "**bold**", 1)
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.9})
        with pytest.raises(AssertionError, match="scalar"):
            writer.add_scalar("loss", thunk.ones(2))
    first, loss, note, table, accuracy = read(tmp_path)
    assert one(first, 3) == b"brain.Event:2"
    assert (one(loss, 1), one(loss, 2)) == (3.0, 7)
    assert one(loss, 5, 1, 1) == b"loss"
    assert one(loss, 5, 1, 2) == 0.5
    assert one(note, 5, 1, 8, 8) == b"**bold**"
    assert one(note, 5, 1, 9, 1, 1) == b"text"
    assert b"| lr | 0.1 |" in one(table, 5, 1, 8, 8)
    assert one(accuracy, 5, 1, 2) == pytest.approx(0.9)


def test_pictures_and_distributions(tmp_path: Path) -> None:
    writer = SummaryWriter(str(tmp_path))
    writer.add_image("picture", thunk.rand(3, 4, 6), 2)
    writer.add_image("grey", thunk.rand(4, 6), 2, dataformats="HW")
    writer.add_images("batch", thunk.rand(2, 1, 4, 6))
    writer.add_histogram("weights", thunk.arange(100.0), 3)
    with pytest.raises(AssertionError, match="CHW"):
        writer.add_image("picture", thunk.rand(4, 6))
    with pytest.raises(ValueError, match="no element"):
        writer.add_histogram("weights", thunk.ones(0))
    writer.close()
    _, picture, grey, batch, weights = read(tmp_path)
    for event, size in ((picture, (4, 6, 3)), (grey, (4, 6, 1)), (batch, (4, 12, 1))):
        assert tuple(one(event, 5, 1, 4, number) for number in (1, 2, 3)) == size
        assert one(event, 5, 1, 4, 4).startswith(b"\x89PNG")
    assert [one(weights, 5, 1, 5, number) for number in (1, 2, 3, 4)] == [0.0, 99.0, 100.0, 4950.0]
    counts = one(weights, 5, 1, 5, 7)
    assert sum(struct.unpack(f"<{len(counts) // 8}d", counts)) == 100.0
    with pytest.raises(ValueError, match="closed"):
        writer.flush()


def test_several_numbers_in_one_diagram(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("loss", {"train": 1.0, "test": 2.0}, 4)
    for name, value in (("train", 1.0), ("test", 2.0)):
        event = read(tmp_path / f"loss_{name}")[1]
        assert (one(event, 2), one(event, 5, 1, 2)) == (4, value)
