"""Enters: a graph. Leaves: an `Executable`. What every backend promises, and which there are.

Invariant: an executable is given memory that lies as the specs of the graph's inputs say, and gives
memory of its own for every output, laid out densely as the output's spec says.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from thunk.ir.graph import Graph
from thunk.runtime.launch import Launch
from thunk.runtime.storage import Bytes

Number = bool | int | float | complex
Donated = frozenset[int] | Mapping[int, int]


class Executable(Protocol):
    """A compiled graph."""

    def run(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> list[Bytes]:
        """One buffer an output, filled when it returns; raises what went wrong.

        A donated input may be overwritten, and may come back as an output.
        """
        ...

    def prepare(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> Launch:
        """The same run, to be started with `start`; who is interrupted asks it if it `started`."""
        ...

    def launch(self, inputs: Sequence[Bytes], numbers: Sequence[Number]) -> Launch:
        """The same run, started; it may be over later."""
        ...

    def text(self) -> str:
        """The program in the form in which a person can read it."""
        ...


class Backend(Protocol):
    """Turns graphs into executables."""

    @property
    def name(self) -> str: ...

    def compile(self, graph: Graph, donated: Donated) -> Executable:
        """`donated` are the positions of inputs that nobody reads after the run.

        Where they say which output each is for, no other output takes its memory over.
        """
        ...

    def wait(self) -> None:
        """Return when every launch is over; raise the first failure nobody was told of."""
        ...


_backends: dict[str, Backend] = {}
# Where backends of our own are; importing one registers it, on first use.
_modules = {"cpu": "thunk.backends.cpu.backend", "reference": "thunk.backends.reference.backend"}


def register_backend(backend: Backend) -> None:
    """Make a backend known under its name."""
    _backends[backend.name] = backend


def backend_named(name: str) -> Backend:
    """The backend `name`; raises with the names there are."""
    found = _backends.get(name)
    if found is None and name in _modules:
        importlib.import_module(_modules[name])
        found = _backends.get(name)
    if found is None:
        raise ValueError(f"backend: expected one of {backend_names()}, got {name!r}")
    return found


def backend_names() -> list[str]:
    """Every backend there is, loaded or not."""
    return sorted({*_backends, *_modules})
