"""Enters: LLVM text and its key. Leaves: addresses of its functions; compiled once a process.

Invariant: object code is a pure function of text, machine and versions; it stays loaded for good.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from llvmlite import binding

from thunk.backends.cpu.machine import target_machine


class Loader:
    """Loads object code into the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._addresses: dict[str, int] = {}
        self._linker = binding.create_lljit_compiler(target_machine())
        self._libraries: list[Any] = []
        self.compiled = 0
        self.compile_seconds = 0.0

    def address(self, name: str, text: Callable[[], str]) -> int:
        """The function `name`; `text` writes its module on the first call."""
        with self._lock:
            found = self._addresses.get(name)
            if found is None:
                found = self._addresses[name] = self._load(name, text)
            return found

    def _load(self, name: str, text: Callable[[], str]) -> int:
        code = compile_text(text())
        self.compiled += 1
        builder = binding.JITLibraryBuilder().add_object_img(code).export_symbol(name)
        library = builder.add_current_process().link(self._linker, name)
        self._libraries.append(library)  # code lives as long as its library
        return int(library[name])


def compile_text(text: str) -> bytes:
    """Object code of one module."""
    machine = target_machine()
    module = binding.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    return bytes(machine.emit_object(module))


_loader: list[Loader] = []


def loader() -> Loader:
    """The process's loader, made on first use."""
    if not _loader:
        _loader.append(Loader())
    return _loader[0]
