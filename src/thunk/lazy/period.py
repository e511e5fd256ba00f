"""Enters: a walk that nobody cuts. Leaves: whether it is cut here, and why.

A loop without an optimizer and without a look at its values is one endless walk. Cut just where it
got too long it would start at another operation of the loop each time, and be another program; so
it is cut where it repeats. Invariant: operators and their lines decide, never the clock, so the
next loop of this kind is cut at the same places.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from thunk.base.config import config
from thunk.ir.opdef import OpDef
from thunk.lazy.node import ATTACH, LEAF, TraceNode
from thunk.lazy.trace import Trace

_REPEATS = 8
_LONGEST_PROGRAM = 64  # operators, as long as a round is no longer than that

Signature = tuple[tuple[OpDef, str, str], ...]


class Period(NamedTuple):
    """What a walk is expected to be until it is cut."""

    signature: Signature  # operators of one round, with their lines and modules
    rounds: int

    @property
    def length(self) -> int:
        return len(self.signature) * self.rounds


def reason_to_cut(trace: Trace, node: TraceNode) -> str:
    """Why the walk is to be cut at `node`, its end; empty if it is not."""
    if _ends_period(node):
        return _unless_inside("the path repeats")
    too_long = (
        node.depth >= config.lazy_longest_trace or node.nbytes >= config.lazy_largest_trace << 20
    )
    expected: Period | None = trace.period
    if expected is not None and node.depth >= expected.length:
        done = _operators(node, expected.length + 1)
        if len(done) >= expected.length:
            trace.period = None
            if tuple(done) == expected.signature * expected.rounds:
                node.places = {PERIOD: None}
                return _unless_inside("the path repeats")
    if too_long or (node.depth >= trace.look_at and not node.requires_grad):
        trace.look_at = max(trace.look_at, node.depth) * 2
        reason = _unless_inside("trace too long")
        found = _period_of(_operators(node, node.depth, True)) if reason else None
        if found is not None:
            trace.period = found
            return "the path repeats"
        return reason if too_long else ""
    return ""


PERIOD = "the end of a period"


def _ends_period(node: TraceNode) -> bool:
    """Whether a period ends here; the next call's operands may have been met already."""
    while node.op in (LEAF, ATTACH) and node.parent is not None:
        node = node.parent
    return node.places is not None and PERIOD in node.places


def _operators(
    node: TraceNode | None, most: int, since_weights: bool = False
) -> list[tuple[OpDef, str, str]]:
    """The last operators of a walk with their lines and modules, in order.

    Equal layers are no rounds of a loop: `since_weights` stops where a weight was met first.
    """
    found: list[tuple[OpDef, str, str]] = []
    while node is not None and len(found) < most:
        if since_weights and node.op is LEAF and node.requires_grad:
            break
        if isinstance(node.op, OpDef):
            found.append((node.op, node.where, node.scope))
        node = node.parent
    found.reverse()
    return found


def _period_of(done: list[tuple[OpDef, str, str]]) -> Period | None:
    """The shortest round that the end of a walk repeats."""
    done.reverse()
    for length in range(1, len(done) // _REPEATS + 1):
        if done[length] != done[0]:
            continue
        if done[length : _REPEATS * length] == done[: (_REPEATS - 1) * length]:
            return Period(tuple(done[length - 1 :: -1]), max(1, _LONGEST_PROGRAM // length))
    return None


_HERE = __file__.rsplit("lazy", 1)[0]
_UNSAFE = tuple([os.path.join(_HERE, each) for each in ("lazy", "autograd")])
_OWN = tuple([os.path.join(_HERE, "lazy", each) for each in ("period.py", "calls.py", "trace.py")])


def _unless_inside(reason: str) -> str:
    """Nothing, if somebody up the stack is in the middle of something, and holds nodes."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _OWN:
        frame = frame.f_back
    while frame is not None:
        if frame.f_code.co_filename.startswith(_UNSAFE):
            return ""
        frame = frame.f_back
    return reason
