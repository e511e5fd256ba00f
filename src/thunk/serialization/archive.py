"""Enters: records, or a file of them. Leaves: PyTorch's zip container: a folder, never compressed.

Invariant: what stands under a path is the old file or the whole new one, never a part of it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy

from thunk.runtime.storage import Bytes, allocate

ALIGNMENT = 64  # of every record, so that memory can be mapped straight from the file
_LOCAL_HEADER = 30
_ZIP64_EXTRA = 20
_LARGE = (1 << 31) - (1 << 27)  # from here on zipfile writes long sizes into the header
_PADDING_ID = b"FB"


class Writer:
    """Writes records below one folder, each aligned."""

    def __init__(self, file: IO[bytes], folder: str) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._folder = folder

    def write(self, name: str, data: bytes | memoryview) -> None:
        """One record."""
        info = zipfile.ZipInfo(f"{self._folder}/{name}")
        large = len(data) >= _LARGE
        start = self._zip.start_dir + _LOCAL_HEADER + len(info.filename.encode())
        start += _ZIP64_EXTRA if large else 0
        padding = -(start + 4) % ALIGNMENT
        info.extra = _PADDING_ID + padding.to_bytes(2, "little") + b"Z" * padding
        with self._zip.open(info, "w", force_zip64=large) as record:
            record.write(data)

    def close(self) -> None:
        """Write the directory of the container."""
        self._zip.close()


class Reader:
    """Reads records; the folder is the first record's."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self._zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise RuntimeError(
                "load: expected a whole checkpoint, got one that is cut short or damaged: "
                f"{error}; copy or save it again"
            ) from error
        names = self._zip.namelist()
        self._folder = names[0].partition("/")[0] if names else ""
        self._names = frozenset(names)

    def has(self, name: str) -> bool:
        """Whether there is such a record."""
        return f"{self._folder}/{name}" in self._names

    def read(self, name: str) -> bytes:
        """The bytes of a small record."""
        return self._zip.read(self._entry(name))

    def read_memory(self, name: str, nbytes: int) -> Bytes:
        """The bytes of a record in aligned memory of their own."""
        info = self._sized(name, nbytes)
        memory = allocate(nbytes)
        if info.compress_type != zipfile.ZIP_STORED:
            memory.data[:] = self._zip.read(info)
            return memory
        file: Any = self._zip.fp
        file.seek(self.place(name, nbytes))
        # zipfile would copy and sum in small pieces; weights are read in one.
        if hasattr(file, "readinto"):
            count = file.readinto(memory.data)
        else:
            content = file.read(nbytes)
            count = len(content)
            memory.data[:count] = content
        if count != nbytes or zlib.crc32(memory.data) != info.CRC:
            raise RuntimeError(
                f"load: expected the bytes of record {name} as they were written, got others; "
                "the file is damaged"
            )
        return memory

    def place(self, name: str, nbytes: int) -> int:
        """Where in the file the bytes of a record begin."""
        info = self._sized(name, nbytes)
        if info.compress_type != zipfile.ZIP_STORED:
            raise RuntimeError(
                f"load: expected an uncompressed record to map, got {name} compressed; "
                "drop mmap=True"
            )
        file: Any = self._zip.fp
        file.seek(info.header_offset)
        header = file.read(_LOCAL_HEADER)
        lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        return int(info.header_offset + _LOCAL_HEADER + lengths)

    def _sized(self, name: str, nbytes: int) -> zipfile.ZipInfo:
        info = self._entry(name)
        if info.file_size != nbytes:
            raise RuntimeError(
                f"load: expected {nbytes} bytes in record {name}, got {info.file_size}; "
                "the file is damaged"
            )
        return info

    def _entry(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._zip.getinfo(f"{self._folder}/{name}")
        except KeyError:
            raise RuntimeError(
                f"load: expected a PyTorch checkpoint with the record {name}, got a zip file "
                "without it; was it written by torch.save?"
            ) from None


def is_archive(file: IO[bytes]) -> bool:
    """Whether the file begins as a zip container does; its position stays."""
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    return head == b"PK\x03\x04"


def mapped(path: str | os.PathLike[str]) -> Bytes:
    """The bytes of a file, read when looked at; writes stay in this process."""
    return numpy.asarray(numpy.memmap(path, numpy.uint8, "c"))


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file that takes `path`'s place once it is complete; on an error nothing changes."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a pipe or a device has no place to take
        with target.open("wb") as file:
            yield file
        return
    if not target.parent.is_dir():
        raise RuntimeError(
            f"save: expected a path in an existing folder, got Parent directory {target.parent} "
            "does not exist; create it first"
        )
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(_mode(target))
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The permissions that a plain write would leave behind."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def check_byte_order(order: bytes) -> None:
    """Refuse files whose numbers this machine would read backwards."""
    if order.decode("ascii", "replace") not in ("little", "big"):
        raise ValueError(f"load: expected byte order little or big, got {order!r}")
    if order.decode() != sys.byteorder:
        raise RuntimeError(
            f"load: expected a file of {sys.byteorder}-endian numbers, got {order.decode()}; "
            "save it again on such a machine"
        )
