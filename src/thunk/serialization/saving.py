"""Enters: an object and a place. Leaves: PyTorch's checkpoint of it there.

Invariant: torch.load reads what is written here, under its own safe defaults if the object allows.
"""

from __future__ import annotations

import os
import pickle
import sys
import uuid
from pathlib import Path
from typing import IO, Any

from thunk.lazy.transfer import saver
from thunk.serialization.archive import ALIGNMENT, Writer, replacing
from thunk.serialization.pickler import Storages, pickled, pickled_by

DEFAULT_PROTOCOL = 2


def save(
    obj: Any,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object to a path or file in PyTorch's zip format.

    A path gets the whole file or keeps what it had. `_use_new_zipfile_serialization=False` is
    refused: the old format is only read.
    """
    if not _use_new_zipfile_serialization:
        raise ValueError(
            "save: expected _use_new_zipfile_serialization=True, got False; every PyTorch since "
            "1.6 reads the new format"
        )
    storages = Storages()
    if pickle_module is pickle:
        data = pickled(obj, pickle_protocol, storages)
    else:
        data = pickled_by(pickle_module, obj, pickle_protocol, storages)
    if isinstance(f, (str, os.PathLike)):
        path = Path(f)
        with replacing(path) as file:
            _write(file, path.stem or "archive", data, storages, not _disable_byteorder_record)
        return
    if not callable(getattr(f, "write", None)):
        raise AttributeError(
            "save: expected 'f' to be a path or a file object with a write method, "
            f"got {type(f).__name__}"
        )
    _write(f, "archive", data, storages, not _disable_byteorder_record)


def _write(file: IO[bytes], folder: str, data: bytes, storages: Storages, says_order: bool) -> None:
    writer = Writer(file, folder)
    writer.write("data.pkl", data)
    writer.write(".format_version", b"1")
    writer.write(".storage_alignment", str(ALIGNMENT).encode())
    if says_order:
        writer.write("byteorder", sys.byteorder.encode())
    for number, memory in enumerate(storages.memories):
        content = memory.data
        writer.write(f"data/{number}", b"" if content is None else content.data)
    writer.write("version", b"3\n")
    writer.write(".data/serialization_id", f"{uuid.uuid4().int:040d}"[:40].encode())
    writer.close()


saver[:] = [save]  # for `thunk.lazy`, which lies below
