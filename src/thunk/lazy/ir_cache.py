"""Enters: the trie of this thread. Leaves: it as a picture, or empty.

Invariant: what was recorded survives: it is launched before its nodes are dropped. Compiled graphs
are found again by what they compute, so an empty trie costs no compile.
"""

from __future__ import annotations

from pathlib import Path

from thunk.lazy.node import TraceNode, count_below
from thunk.lazy.trace import traces


def dump(dot_file_name: str) -> None:
    """Write every path that was recorded into a file, in the dot language."""
    lines = ["digraph trie {"]
    numbers: dict[TraceNode, int] = {}
    pending = [traces.current.root]
    while pending:
        node = pending.pop()
        if node in numbers:
            continue
        numbers[node] = len(numbers)
        label = repr(node) + (f"\\n{node.where}" if node.where else "")
        lines.append(f'  n{numbers[node]} [label="{_quoted(label)}"];')
        pending += node.children.values()
    for node, number in numbers.items():
        ends = dict.fromkeys(numbers[each] for each in node.children.values())
        lines += [f"  n{number} -> n{end};" for end in ends]
    Path(dot_file_name).write_text("\n".join([*lines, "}", ""]), encoding="utf-8")


def _quoted(text: str) -> str:
    return text.replace('"', '\\"')


def size() -> int:
    """How many nodes the trie of this thread has."""
    return count_below(traces.current.root)


def reset() -> None:
    """Forget every path of this thread."""
    trace = traces.current
    trace.launch("ir_cache.reset")
    trace.clear()
