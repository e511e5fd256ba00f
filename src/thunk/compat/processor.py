"""Enters: this machine. Leaves: what its processor can do, in words."""

from __future__ import annotations

import platform
from pathlib import Path

_INTERESTING = (
    "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512_vnni",
    "avx512_bf16", "amx_bf16", "asimd", "sve",
)  # fmt: skip


def features() -> list[str]:
    """The instruction sets that matter for kernels, where the system lists them."""
    found: set[str] = set()
    source = Path("/proc/cpuinfo")
    if source.exists():
        for line in source.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip().lower() in ("flags", "features"):
                found.update(value.split())
                break
    return [each for each in _INTERESTING if each in found]


def model() -> str:
    """The processor's name."""
    source = Path("/proc/cpuinfo")
    if source.exists():
        for line in source.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def capability() -> str:
    """The widest vectors, in PyTorch's words."""
    found = features()
    if "avx512f" in found:
        return "AVX512"
    if "avx2" in found:
        return "AVX2"
    return "SVE" if "sve" in found else "DEFAULT"
