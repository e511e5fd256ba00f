"""Writes docs/operators.md, the table of operators, from the declarations, or checks that it is so.

In: the registry that importing thunk fills. Out: a section a family, a row a declared overload.
Invariant: nothing is said here that a declaration does not state.

    python tools/make_operators.py --check | --write
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import generated
import thunk  # noqa: F401  importing the package declares its operators
from thunk.ir.opdef import MissingGradient, NoGradient, OpDef
from thunk.ops.registry import all_ops

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path("docs/operators.md")
ELSEWHERE = "elsewhere"
HEAD = """# Operators

Written by `make docs` from the declarations under `src/thunk/ops`; do not edit.

*gradient*: `formula`, of its parts (the operator is made of others, and autograd sees those), or
the reason for having none. *made of*: whether backends must know it (primitive) or may take it
apart. *at run time*: scalars whose value never changes compiled code.
"""


def family(op: OpDef) -> str:
    """The folder under thunk/ops whose file declares the operator."""
    parts = Path(op.where.rpartition(":")[0]).parts
    if "ops" not in parts:
        return ELSEWHERE
    after = parts[parts.index("ops") + 1 :]
    return after[0] if len(after) > 1 else ELSEWHERE


def gradient(op: OpDef) -> str:
    """The gradient column."""
    if op.is_composite:
        return "of its parts"
    if isinstance(op.gradient, NoGradient):
        return f"none: {op.gradient.reason}"
    if isinstance(op.gradient, MissingGradient):
        return f"missing: {op.gradient.reason}"
    return "formula"


def notes(op: OpDef, variants: Iterable[OpDef]) -> str:
    """What else the declaration states."""
    flags = {
        "a view": op.view,
        "random": op.random,
        "may raise on data": bool(op.raises_on_data),
        "shape depends on data": op.dynamic_shape,
    }
    said = [flag for flag, holds in flags.items() if holds]
    said += [f"also `{variant.name}`" for variant in variants]
    if "out" in op.variants:
        said.append("`out=`")
    if op.runtime_scalars:
        said.append("at run time: " + ", ".join(f"`{name}`" for name in sorted(op.runtime_scalars)))
    return "; ".join(said)


def row(op: OpDef, variants: Iterable[OpDef]) -> str:
    """One line of a family's table."""
    first_sentence = " ".join(op.doc.split("\n\n")[0].split())
    cells = (
        f"`{op.schema}`",
        first_sentence,
        gradient(op),
        "others" if op.decompose is not None else "primitive",
        notes(op, variants),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def rendered(ops: Iterable[OpDef]) -> str:
    """The whole page."""
    declared: list[OpDef] = []
    variants: dict[OpDef, list[OpDef]] = {}
    for op in ops:
        if op.functional is None:
            declared.append(op)
        else:
            variants.setdefault(op.functional, []).append(op)
    families: dict[str, list[OpDef]] = {}
    for op in sorted(declared, key=lambda op: op.full_name):
        families.setdefault(family(op), []).append(op)
    names = {(op.schema.namespace, op.name) for op in declared}
    lines = [HEAD, f"{len(names)} names, {len(declared)} overloads, in {len(families)} families."]
    for name in sorted(families):
        lines += [
            f"\n## {name}\n",
            "| operator | what it gives | gradient | made of | notes |",
            "|---|---|---|---|---|",
            *(row(op, variants.get(op, ())) for op in families[name]),
        ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write the table, or print how it differs and return 1."""
    description = "the table of operators, from their declarations"
    return generated.run(root / PAGE, lambda: rendered(all_ops()), description, arguments)


if __name__ == "__main__":
    sys.exit(main())
