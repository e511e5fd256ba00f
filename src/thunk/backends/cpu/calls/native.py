"""Enters: LLVM's intermediate language, written on demand. Leaves: addresses of machine code.

Invariant: the code lives as long as the process, at addresses that do not move; it refers to C
functions by names that were defined before.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
from collections.abc import Callable, Mapping
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any, Final, ParamSpec

from llvmlite import binding

from thunk.backends.cpu.llvm.store import store
from thunk.backends.cpu.machine import description, features, lanes, target_machine

Arguments = ParamSpec("Arguments")

_libraries: Final[list[Any]] = []
_symbols: Final[dict[str, int]] = {}
_numbers: Final = itertools.count()


def vector_bytes() -> int:
    """Bytes of the machine's vectors."""
    return lanes() * 4


def vector_registers() -> int:
    """How many vectors the machine holds at once."""
    x86 = "sse2" in features()
    return 16 if x86 and vector_bytes() < 64 else 32


def define_symbols(addresses: Mapping[str, int]) -> None:
    """Let code that is compiled from now on refer to C functions by name."""
    _symbols.update(addresses)


@cache
def _linker() -> Any:
    return binding.create_lljit_compiler(target_machine())


def native(
    name: str, vectorise: bool = False
) -> Callable[[Callable[Arguments, str]], Callable[Arguments, int]]:
    """Turns a function that writes a module into one that gives the address of its `name`.

    The code follows from the arguments, which must print as what they are. Vector code needs little
    optimisation; `vectorise` is for code written for single elements.
    """

    def decorate(write: Callable[Arguments, str]) -> Callable[Arguments, int]:
        known: dict[str, int] = {}

        @wraps(write)
        def address(*arguments: Arguments.args, **options: Arguments.kwargs) -> int:
            key = f"{write.__module__}.{write.__qualname__}{arguments}{options}"
            if key not in known:
                text = partial(write, *arguments, **options)
                known[key] = _loaded(name, _object_code_of(name, key, text, vectorise))
            return known[key]

        return address

    return decorate


@cache
def _edition() -> str:
    """Tells the sources of the code writers from older and newer ones."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    states = [source.stat() for source in sources]
    listed = ";".join(f"{state.st_size},{state.st_mtime_ns}" for state in states)
    return hashlib.sha256(listed.encode()).hexdigest()


def _object_code_of(name: str, key: str, text: Callable[[], str], vectorise: bool) -> bytes:
    """Compiled by this process, or by an earlier one."""
    key = f"{description()} {_edition()}\n{key}"
    file = f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:40]}"
    code = store.get(file, key)
    if code is None:
        code = _object_code(text(), vectorise)
        store.put(file, key, code)
    return code


def _loaded(name: str, code: bytes) -> int:
    """Machine code in memory; the address of its function `name`."""
    builder = binding.JITLibraryBuilder().add_object_img(code).export_symbol(name)
    for symbol, start in _symbols.items():
        builder.import_symbol(symbol, start)
    unique = f"{name}.{next(_numbers)}"
    library = builder.add_current_process().link(_linker(), unique)
    _libraries.append(library)
    return int(library[name])


def _object_code(text: str, vectorise: bool) -> bytes:
    machine = target_machine()
    module = binding.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    tuning = binding.create_pipeline_tuning_options(speed_level=2 if vectorise else 1)
    tuning.loop_vectorization = vectorise
    builder = binding.create_pass_builder(machine, tuning)
    if vectorise:
        passes = builder.getModulePassManager()
    else:
        passes = binding.create_new_module_pass_manager()
        passes.add_sroa_pass()  # variables in stack slots become registers
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
    passes.run(module, builder)
    return bytes(machine.emit_object(module))


def address_of(function: Any) -> int:
    """Where a C function that ctypes found starts."""
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found
