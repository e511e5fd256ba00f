"""Enters: the processor. Leaves: its name, its features and the width of its vectors.

Invariant: the description holds everything that machine code depends on.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite
from llvmlite import binding

from thunk.base.config import config
from thunk.base.version import __version__

CODE = 2  # raised whenever the code generator writes other code for the same loops
LANE_BYTES = 4  # lanes are counted in float32


@cache
def target_machine() -> Any:
    """LLVM's description of this processor, ready to emit code."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features(), opt=2, reloc="pic", jit=True
    )


@cache
def features() -> str:
    """The processor's instruction sets as LLVM spells them, but for those that are masked."""
    found = str(binding.get_host_cpu_features().flatten())
    masked = _MASKED[config.vectors]
    return ",".join(
        "-" + each[1:] if masked and each[1:].startswith(masked) else each
        for each in found.split(",")
    )


# With these prefixes go the instruction sets that have wider vectors than the option allows.
_MASKED: dict[str, tuple[str, ...]] = {
    "auto": (), "512": (), "256": ("avx512", "avx10", "amx")
}  # fmt: skip


@cache
def lanes() -> int:
    """How many float32 values fit into one vector."""
    known = set(features().split(","))
    if {"+avx512f", "+avx512bw", "+avx512vl", "+avx512dq"} <= known:
        return 64 // LANE_BYTES
    return 32 // LANE_BYTES if "+avx2" in known else 16 // LANE_BYTES


@cache
def description() -> str:
    """Processor, features and versions, as one line."""
    versions = f"llvm {'.'.join(map(str, binding.llvm_version_info))}"
    made = f"{versions} llvmlite {llvmlite.__version__} thunk {__version__} code {CODE}"
    return f"{binding.get_host_cpu_name()} {features()} {made}"
