"""Dispatch in words: an operator's whole table, or the way of one call through it.

Enters: an operator's name and, for a call, the key sets that decide it. Leaves: text for people.
Invariant: the text is read off the very rows that calls use; nothing is decided here.
"""

from __future__ import annotations

from thunk.dispatch.keys import DispatchKey, KeySet
from thunk.dispatch.registry import OperatorRegistry, registry
from thunk.dispatch.table import OperatorEntry, Row

_HEADINGS = ("key", "kernel", "registered at", "why")


def matching_operators(
    op_name: str, operators: OperatorRegistry = registry
) -> tuple[OperatorEntry, ...]:
    """Return the operators that a name means: "aten::add.Tensor", "aten::add", "add.Tensor", "add".

    A full name means that operator alone; a shorter one means all that it is a part of.
    """
    exact = operators.find(op_name)
    if exact is not None:
        return (exact,)
    found = []
    for full_name in operators.names():
        unqualified = full_name.rpartition("::")[2]
        base = unqualified.partition(".")[0]
        packet = full_name.partition(".")[0]
        if op_name in (unqualified, base, packet):
            found.append(operators.entry(full_name))
    if not found:
        raise RuntimeError(
            f"{op_name}: expected the name of an operator, got one that none of the"
            f" {len(operators.names())} defined operators has; check the spelling"
        )
    return tuple(found)


def table_text(op_name: str, operators: OperatorRegistry = registry) -> str:
    """Return the table of each operator that the name means, with the reason of every row."""
    entries = matching_operators(op_name, operators)
    return "\n".join(_entry_text(entry) for entry in entries)


def explain(
    op_name: str,
    key_set: KeySet,
    include: KeySet,
    exclude: KeySet,
    operators: OperatorRegistry = registry,
) -> str:
    """Return how a call finds its kernel: argument keys, mode keys, the walk, the row, the reason.

    `include` and `exclude` are the keys that the thread's modes add and take away.
    """
    parts = []
    for entry in matching_operators(op_name, operators):
        call_keys = (key_set | include) - exclude
        lines = [
            _title(entry),
            f"  arguments carry: {_names(key_set)}",
            f"  modes include:   {_names(include)}",
            f"  modes exclude:   {_names(exclude)}",
            f"  the call meets:  {_names(call_keys)}",
            *_walk_lines(entry, call_keys),
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _title(entry: OperatorEntry) -> str:
    return entry.schema_text or f"{entry.name} (kernels, but no definition)"


def _names(key_set: KeySet) -> str:
    return ", ".join(key.name for key in key_set) or "(none)"


def _entry_text(entry: OperatorEntry) -> str:
    lines = [_title(entry)]
    if entry.where is not None:
        lines.append(f"  defined at {entry.where}")
    rows = entry.rows()
    cells = [_HEADINGS, *(_row_cells(row) for row in rows if not row.is_missing)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS) - 1)]
    for line in cells:
        padded = [text.ljust(width) for text, width in zip(line, widths, strict=False)]
        lines.append("  " + "  ".join([*padded, line[-1]]))
    missing = [row.key.name for row in rows if row.is_missing]
    if missing:
        lines.append(f"  missing, so a call raises: {', '.join(missing)}")
    return "\n".join(lines) + "\n"


def _row_cells(row: Row) -> tuple[str, str, str, str]:
    if row.is_ambiguous:
        return row.key.name, "(ambiguous)", "-", row.reason
    return row.key.name, row.kernel.name, row.kernel.where, row.reason


def _walk_lines(entry: OperatorEntry, call_keys: KeySet) -> list[str]:
    """Follow the call to its kernel, then say what serves the keys below if that calls on."""
    lines = []
    chosen: Row | None = None
    remaining = call_keys
    while chosen is None or remaining:
        *passed, row = entry.walk(remaining)
        if chosen is not None and row.key is DispatchKey.Undefined:
            break
        if chosen is not None:
            lines.append(f"  if that kernel calls on with {_names(remaining)}:")
        lines += [f"    {step.key.name}: {step.reason}" for step in passed]
        lines.append(f"    {row.key.name}: {row.reason}")
        lines.append(f"    -> {_verdict(row)}")
        chosen = row
        if row.is_missing or row.is_ambiguous or row.key is DispatchKey.Undefined:
            break
        remaining = call_keys.after(row.key)
    return lines


def _verdict(row: Row) -> str:
    if row.is_ambiguous:
        return "raises RuntimeError: two kernels claim the key"
    if row.is_missing:
        return "raises NotImplementedError: no kernel serves the key"
    convention = ", boxed" if row.kernel.boxed else ""
    return f"runs {row.kernel.name} ({row.rule.value}{convention}), from {row.kernel.where}"
