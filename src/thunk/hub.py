"""`thunk.hub`: downloads of code are refused; downloads of weights work where there is a network.

Invariant: nothing that was downloaded is ever run; a file whose hash differs is never kept.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, NoReturn

from thunk.serialization import load as _load_checkpoint

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024
_chosen: list[str] = []


def _get_torch_home() -> str:
    """Where PyTorch keeps what it downloads; shared, so that nothing is fetched twice."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return str(Path(os.environ.get("TORCH_HOME", f"{cache}/torch")).expanduser())


def get_dir() -> str:
    """Where downloads are kept."""
    return _chosen[-1] if _chosen else str(Path(_get_torch_home()) / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose where downloads are kept."""
    _chosen.append(str(Path(d).expanduser()))


def _refuse(op: str) -> NoReturn:
    raise RuntimeError(
        f"hub.{op}: expected code of this machine, got a repository; code from the network is not "
        "run: install the package and import its model, then load weights with torch.load"
    )


def load(repo_or_dir: str, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: it would run code from the network."""
    _refuse("load")


def list(github: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: it would run code from the network."""
    _refuse("list")


def help(github: str, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: it would run code from the network."""
    _refuse("help")


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch a file, whole or not at all."""
    target = Path(dst).expanduser()
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f"{target.name}.") as part:
        try:
            with urllib.request.urlopen(url) as source:
                while chunk := source.read(READ_DATA_CHUNK):
                    part.write(chunk)
                    digest.update(chunk)
        except urllib.error.URLError as error:
            raise RuntimeError(
                f"hub: expected to reach {url}, got {error.reason}; download it on a machine with "
                f"a network and put it at {target}"
            ) from error
        part.flush()
        found = digest.hexdigest()
        if hash_prefix is not None and not found.startswith(hash_prefix):
            raise RuntimeError(
                f'hub: expected a file with hash "{hash_prefix}", got invalid hash value "{found}"'
                "; try again"
            )
        shutil.copyfile(part.name, target)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """The checkpoint at an address, from the cache if it was fetched before."""
    folder = Path(model_dir or Path(get_dir()) / "checkpoints")
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or Path(urllib.parse.urlparse(url).path).name
    target = folder / name
    if not target.exists():
        prefix = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, str(target), prefix[1] if prefix else None, progress)
    return _load_checkpoint(target, map_location=map_location, weights_only=weights_only)
