"""Enters: URLs, MD5 sums and folders. Leaves: verified files on disk, or an error that tells why.

Invariant: a file appears under its name only when it is whole and its sum is right; archives are
unpacked without links, absolute names or names that leave the folder.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path

_TIMEOUT_SECONDS = 30.0


def md5_of(path: Path) -> str:
    """The MD5 sum of a file: an integrity check against published sums, no protection."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def is_intact(path: Path, md5: str | None = None) -> bool:
    """Whether the file is there and, if a sum is given, has it."""
    return path.is_file() and (md5 is None or md5_of(path) == md5)


def _fetch(url: str, path: Path, md5: str | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with (
            urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as answer,
            os.fdopen(handle, "wb") as file,
        ):
            shutil.copyfileobj(answer, file)
        if md5 is not None and md5_of(Path(partial)) != md5:
            raise ValueError(f"expected MD5 {md5}, got {md5_of(Path(partial))}")
        os.replace(partial, path)
    finally:
        Path(partial).unlink(missing_ok=True)


def download(urls: Sequence[str], path: Path, md5: str | None = None) -> None:
    """Fetch a file from the first of several URLs that has it, unless it is there already."""
    if is_intact(path, md5):
        return
    failures = []
    for url in urls:
        try:
            _fetch(url, path, md5)
        except (OSError, ValueError) as error:
            failures.append(f"{url}: {error}")
        else:
            return
    told = "\n  ".join(failures)
    raise RuntimeError(
        f"download: expected to fetch {path.name}, got\n  {told}\nWithout a network, put the file "
        f"at {path} yourself and leave download=True out"
    )


def unzip(source: Path, target: Path) -> None:
    """Unpack one gzip file."""
    with gzip.open(source) as packed, open(target, "wb") as file:
        shutil.copyfileobj(packed, file)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the regular files of a tar or zip archive below `folder`."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            # `extractall` drops drive letters, leading slashes and `..` by itself.
            zipped.extractall(folder)
        return
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            target = (folder / member.name).resolve()
            if not member.isfile() or not target.is_relative_to(folder.resolve()):
                continue
            source = tar.extractfile(member)
            if source is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                with source, open(target, "wb") as file:
                    shutil.copyfileobj(source, file)
