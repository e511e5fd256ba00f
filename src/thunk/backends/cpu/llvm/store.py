"""Enters: keys and object code. Leaves: object code that an earlier process compiled.

Invariant: code is loaded only from a file that this user owns, that nobody else may write, whose
key equals the wanted one in full and whose checksum holds; everything else is ignored and counted.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from thunk.base.config import config

MAGIC = b"thunk object 1\n"
NOWHERE = "none"
WRITES_BETWEEN_SWEEPS = 64


@dataclass(slots=True)
class Counts:
    """What happened since the process began."""

    hits: int = 0
    misses: int = 0
    writes: int = 0
    ignored: int = 0
    unwritable: int = 0


class Store:
    """Object code on disk."""

    def __init__(self) -> None:
        self.counts = Counts()
        self._writes_left = 0

    @property
    def folder(self) -> Path | None:
        """Where entries lie; None keeps nothing."""
        named = config.cache_dir
        if named == NOWHERE:
            return None
        if named:
            return Path(named)
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return Path(home) / "thunk" / "kernels"

    def get(self, name: str, key: str) -> bytes | None:
        """The code stored under `name`, if it was compiled from `key`."""
        folder = self.folder
        if folder is None:
            return None
        try:
            with open(folder / name, "rb") as file:
                safe = _is_safe(os.fstat(file.fileno()))
                content = file.read() if safe else b""
        except FileNotFoundError:
            self.counts.misses += 1
            return None
        except OSError:
            self.counts.ignored += 1
            return None
        code = _unpacked(content, key)
        if code is None:
            self.counts.ignored += 1
        else:
            self.counts.hits += 1
        return code

    def put(self, name: str, key: str, code: bytes) -> None:
        """Keep code for later processes; a folder that cannot be written is no error."""
        folder = self.folder
        if folder is None:
            return
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=".")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_packed(key, code))
                os.replace(temporary, folder / name)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError:
            self.counts.unwritable += 1
            return
        self.counts.writes += 1
        self._bound(folder)

    def _bound(self, folder: Path) -> None:
        """Now and then remove what was not used for longest."""
        if self._writes_left:
            self._writes_left -= 1
            return
        self._writes_left = WRITES_BETWEEN_SWEEPS
        sweep(folder, config.cache_megabytes << 20)

    def clear(self) -> None:
        """Remove every entry."""
        if self.folder is not None:
            sweep(self.folder, 0)

    def nbytes(self) -> int:
        """Bytes on disk."""
        return sum(size for _, size, _ in _entries(self.folder)) if self.folder else 0


def sweep(folder: Path, allowed: int) -> None:
    """Remove the entries that were used least recently until the rest fits."""
    entries = sorted(_entries(folder))
    total = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if total <= allowed:
            return
        try:
            os.unlink(path)
        except OSError:
            continue
        total -= size


def _entries(folder: Path) -> list[tuple[float, int, str]]:
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                used = max(status.st_atime, status.st_mtime)
                found.append((used, status.st_size, entry.path))
    except OSError:
        return found
    return found


def _is_safe(status: os.stat_result) -> bool:
    """Whether only this user can have written the file."""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _packed(key: str, code: bytes) -> bytes:
    text = key.encode()
    body = len(text).to_bytes(8, "little") + text + code
    return MAGIC + hashlib.sha256(body).digest() + body


def _unpacked(content: bytes, key: str) -> bytes | None:
    """The code, if the file is whole and is about `key`."""
    start = len(MAGIC)
    checksum, body = content[start : start + 32], content[start + 32 :]
    if not content.startswith(MAGIC) or hashlib.sha256(body).digest() != checksum:
        return None
    end = 8 + int.from_bytes(body[:8], "little")
    return body[end:] if body[8:end] == key.encode() else None


store = Store()
