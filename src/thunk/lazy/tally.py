"""Enters: the path of a plan. Leaves: what all its runs together counted, when somebody asks.

Invariant: a run adds one to one number; names and sums are made when counters are read.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from thunk.ir.opdef import OpDef
from thunk.lazy.metrics import add_source
from thunk.lazy.node import TraceNode

_FOLD_AT: Final = 4096
_lock: Final = threading.Lock()
_past: Final[Counter[str]] = Counter()  # of plans that are gone
_tallies: Final[list[Tally]] = []


class Tally:
    """How often a plan ran, and what one of its runs means."""

    __slots__ = ("cuts", "missed", "once", "path", "runs")

    def __init__(self, path: Sequence[TraceNode], made: int, alive: int, outputs: int) -> None:
        self.runs = 0  # of a program
        self.missed = 0  # of these, the ones that compiled or interpreted
        self.cuts = 0
        self.once = {
            "CreateLtcTensor": made,
            "DestroyLtcTensor": made - alive,
            "SyncedTensorsWithIR": outputs,
        }
        self.path = Counter(node.op.name for node in path if isinstance(node.op, OpDef))
        with _lock:
            if len(_tallies) >= _FOLD_AT:
                _fold()
            _tallies.append(self)

    def add_to(self, found: Counter[str]) -> None:
        """Add what its runs counted; thousands of plans are asked whenever counters are read."""
        cuts, runs = self.cuts, self.runs
        if cuts:
            for name, amount in self.once.items():
                found[name] += cuts * amount
        if runs:
            found["Executions"] += runs
            found["CachedCompile"] += runs - self.missed
        if cuts > 1:  # the first walk of a path makes its nodes, the others find them
            for name, times in self.path.items():
                found[f"IrNodeReused_{name}"] += (cuts - 1) * times


def _fold() -> None:
    """Keep the sums alone of plans that nobody else holds."""
    kept = []
    while _tallies:
        tally = _tallies.pop()
        if sys.getrefcount(tally) > 2:
            kept.append(tally)
        else:
            tally.add_to(_past)
    _tallies.extend(kept)


def _counted() -> Mapping[str, int]:
    with _lock:
        found = Counter(_past)
        for tally in _tallies:
            tally.add_to(found)
    return found


add_source(_counted)
