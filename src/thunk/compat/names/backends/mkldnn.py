"""`torch.backends.mkldnn`: oneDNN, under the name it once had."""

from __future__ import annotations

import importlib.metadata
from contextlib import AbstractContextManager

from thunk.compat.names.backends.switches import switched

enabled = True
deterministic = False
allow_tf32 = False
fp32_precision = "none"


def is_available() -> bool:
    """Whether oneDNN is installed."""
    names = ("onednn-cpu-gomp", "onednn")
    found = {each.name.lower() for each in importlib.metadata.distributions() if each.name}
    return any(name in found for name in names)


def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = False,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """Other values inside a `with` block."""
    return switched(
        __name__,
        enabled=enabled,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
        fp32_precision=fp32_precision,
    )
