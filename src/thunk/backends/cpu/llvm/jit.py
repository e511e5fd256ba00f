"""Enters: LLVM text and its key. Leaves: addresses of its functions; compiled once a process.

Invariant: object code is a pure function of text, machine and versions; it stays loaded for good.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from llvmlite import binding

from thunk.backends.cpu.llvm.store import store
from thunk.backends.cpu.machine import description, target_machine


class Loader:
    """Loads object code into the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._addresses: dict[str, int] = {}
        self._libraries: list[Any] = []
        self._linker = binding.create_lljit_compiler(target_machine())
        self.compiled = 0
        self.seconds = 0.0

    def address(self, name: str, key: str, text: Callable[[], str]) -> int:
        """The function `name`, whose code follows from `key`; `text` writes its module."""
        with self._lock:
            found = self._addresses.get(name)
            if found is None:
                found = self._addresses[name] = self._load(name, key, text)
            return found

    def _load(self, name: str, key: str, text: Callable[[], str]) -> int:
        key = f"{description()}\n{key}"
        code = store.get(name, key)
        if code is None:
            started = perf_counter()
            code = compile_text(text())
            self.seconds += perf_counter() - started
            self.compiled += 1
            store.put(name, key, code)
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
