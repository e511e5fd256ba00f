"""Enters: LLVM's intermediate language as text, addresses of C functions. Leaves: machine code.

Invariant: the code lives as long as the process, at addresses that do not move.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import llvmlite.binding as llvm

_engines: Final[list[Any]] = []


@cache
def host_attributes() -> str:
    """Attributes of every function: this machine's instructions and widest vectors."""
    features = llvm.get_host_cpu_features().flatten()
    return (
        f'nounwind "target-cpu"="{llvm.get_host_cpu_name()}" "target-features"="{features}" '
        f'"prefer-vector-width"="{vector_bytes() * 8}"'
    )


@cache
def vector_bytes() -> int:
    """Bytes of the machine's vectors."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512vl") and features.get("avx512bw"):
        return 64
    return 32 if features.get("avx2") else 16


@cache
def vector_registers() -> int:
    """How many vectors the machine holds at once."""
    return 16 if vector_bytes() == 32 else 32


@cache
def _ready() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine() -> Any:
    _ready()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True
    )


def define_symbols(addresses: Mapping[str, int]) -> None:
    """Let code refer to C functions by name."""
    for name, address in addresses.items():
        llvm.add_symbol(name, address)


def compiled(text: str, names: Sequence[str], vectorise: bool = False) -> dict[str, int]:
    """Compile a module and give the addresses of its functions.

    Vector code needs little optimisation; `vectorise` is for code written for single elements.
    """
    machine = _machine()
    module = llvm.parse_assembly(f"{text}\nattributes #0 = {{ {host_attributes()} }}\n")
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2 if vectorise else 1)
    tuning.loop_vectorization = vectorise
    builder = llvm.create_pass_builder(machine, tuning)
    if vectorise:
        passes = builder.getModulePassManager()
    else:
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()  # variables in stack slots become registers
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
    passes.run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _engines.append(engine)
    return {name: engine.get_function_address(name) for name in names}


def address_of(function: Any) -> int:
    """Where a C function that ctypes found starts."""
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found
