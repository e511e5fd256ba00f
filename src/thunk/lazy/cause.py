"""Enters: a cut. Leaves: why it happened and where, for those who watch.

Invariant: nothing here runs unless somebody watches or something is compiled.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from thunk.ir.printer import print_graph
from thunk.lazy.compiled import Computation, computations
from thunk.lazy.origin import user_line
from thunk.lazy.watch import COMPILE, EXECUTION, Event, note, watched

_OWN: Final = __file__.rsplit("lazy", 1)[0]

# What a user did, by the function of ours that it entered.
_WORDS: Final = {
    "__repr__": "print", "__str__": "print", "__format__": "print", "__bool__": "bool",
    "__int__": "int", "__float__": "float", "__index__": "index", "__complex__": "complex",
    "__iter__": "iteration", "__contains__": "in", "__array__": "numpy", "__reduce_ex__": "copy",
    "__deepcopy__": "copy", "__len__": "len", "__dlpack__": "dlpack",
}  # fmt: skip


def cause_here() -> str:
    """The public function whose call needs a value now."""
    frame: Any = sys._getframe(1)
    name = ""
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        name = frame.f_code.co_name
        if name == "call" and "slow" in frame.f_locals:
            name = str(getattr(frame.f_locals.get("entry"), "name", name))
        frame = frame.f_back
    return _WORDS.get(name, name) or "value needed"


def announce(computation: Computation, cause: str) -> None:
    """Say that a cut is about to be executed."""
    known = computation.executable is not None or computation.runs > 0
    note(Event(EXECUTION, cause or cause_here(), user_line(), computation.nodes, known))


def announce_compile(computation: Computation, cause: str) -> None:
    """Say that a cut is about to be compiled, and what is new about it."""
    if watched():
        place, why = user_line(), cause or cause_here()
        note(Event(COMPILE, why, place, computation.nodes, False, difference(computation)))


def difference(computation: Computation) -> str:
    """The first thing in which a graph differs from the nearest that was compiled."""
    own = _lines(computation)
    operators = [node.op for node in computation.graph.nodes]
    nearest: list[str] = []
    best = (-1, 0, 0)
    for entry in computations.inspect():
        known: Computation = entry.value
        if known.name == computation.name:
            return "it was compiled before, and its code was dropped"
        lines = _lines(known)
        alike = _common(operators, [node.op for node in known.graph.nodes])
        rank = (alike, -len(known.graph.nodes), _common(own, lines))
        if rank > best:
            best, nearest = rank, lines
    if not nearest:
        return "nothing was compiled before"
    most = _common(own, nearest)
    if own[: len(nearest)] == nearest[: len(own)] and len(own) == len(nearest):
        return "inputs whose memory is taken over"
    was = nearest[most] if most < len(nearest) else "the end"
    now = own[most] if most < len(own) else "the end"
    return f"{now}, where the nearest graph has {was}{_recorded(computation, own, most)}"


def _lines(computation: Computation) -> list[str]:
    """The graph line by line, without its name and the count of its inputs."""
    text = print_graph(computation.graph, with_lines=False).splitlines()[1:]
    return [each.strip().removeprefix("# ") for each in text]


def _common(first: Sequence[Any], second: Sequence[Any]) -> int:
    """How many items at the beginning are the same."""
    for place, (one, other) in enumerate(zip(first, second)):
        if one != other:
            return place
    return min(len(first), len(second))


def _recorded(computation: Computation, lines: list[str], place: int) -> str:
    """The user's line of the operation that a line of the text shows."""
    graph = computation.graph
    number = place - (len(lines) - 1 - len(graph.nodes))
    where = graph.nodes[number].where if 0 <= number < len(graph.nodes) else ""
    return f"; recorded at {where}" if where else ""
