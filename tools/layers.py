"""Reads the imports of a source tree and judges them by the layer order.

In: a folder that holds the package. Out: one line for each import that goes right or sideways,
and one for each cycle of modules. Nothing is imported: the sources are only parsed.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "thunk"

# Left to right: a layer may import what stands before it. Members of one group are siblings and
# never import each other. A top-level name that stands nowhere here belongs to PUBLIC.
PUBLIC = "public names"
ORDER: tuple[tuple[str, ...], ...] = (
    ("base",),
    ("types",),
    ("ir",),
    ("runtime",),
    ("dispatch",),
    ("ops",),
    ("autograd",),
    ("lazy", "compiler"),
    ("backends",),
    ("tensor",),
    ("nn", "masked", "signal", "data", "serialization", "library", "debug"),
    ("optim", "vision", "distributions", "parallel", "capture"),
    (PUBLIC,),
    ("compat",),
    ("__main__",),  # the command line, which runs scripts on the compatibility layer
)
RANK = {name: rank for rank, group in enumerate(ORDER) for name in group}


@dataclass(frozen=True)
class Import:
    """One import statement's edge between two modules of the package."""

    importer: str
    imported: str
    path: Path
    line: int


def layer_of(module: str) -> str:
    """The layer that a dotted module name belongs to."""
    parts = module.split(".")
    if len(parts) > 1 and parts[1] in RANK:
        return parts[1]
    return PUBLIC


def modules_of(source: Path) -> dict[str, Path]:
    """Every module of the package under `source`, by dotted name."""
    found: dict[str, Path] = {}
    for path in sorted((source / PACKAGE).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        found[".".join(parts)] = path
    return found


def imports_of(source: Path) -> list[Import]:
    """Every import of one module of the package by another, function bodies included."""
    modules = modules_of(source)
    edges: list[Import] = []
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        is_package = path.name == "__init__.py"
        for node in _statements(tree):
            for target in _targets(node, name, is_package, modules):
                edges.append(Import(name, target, path, node.lineno))
    return edges


def _statements(
    tree: ast.Module, for_types_too: bool = False
) -> Iterator[ast.Import | ast.ImportFrom | ast.Call]:
    """Import statements and calls; those for the type checker alone only if asked for."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if not for_types_too and isinstance(node, ast.If) and _is_type_checking(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
            yield node
        pending.extend(ast.iter_child_nodes(node))


def _is_type_checking(test: ast.expr) -> bool:
    if isinstance(test, ast.Name):
        return test.id == "TYPE_CHECKING"
    return isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"


def _targets(
    node: ast.Import | ast.ImportFrom | ast.Call,
    importer: str,
    is_package: bool,
    modules: dict[str, Path],
) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        origin = _origin(node, importer, is_package)
        names = [
            inner if (inner := f"{origin}.{alias.name}") in modules else origin
            for alias in node.names
        ]
    else:
        names = _called_names(node)
    for name in names:
        if name.split(".")[0] == PACKAGE:
            yield _known(name, modules)


def _origin(node: ast.ImportFrom, importer: str, is_package: bool) -> str:
    """The absolute name that a `from ... import` starts at."""
    if node.level == 0:
        return node.module or ""
    parts = importer.split(".")
    dropped = node.level - 1 if is_package else node.level
    parts = parts[: len(parts) - dropped]
    return ".".join([*parts, node.module] if node.module else parts)


def _called_names(node: ast.Call) -> list[str]:
    """The constant name given to import_module or __import__, if the call is one of these."""
    function = node.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if called not in ("import_module", "__import__") or not node.args:
        return []
    first = node.args[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return [first.value]
    return []


def _known(name: str, modules: dict[str, Path]) -> str:
    """The longest prefix of `name` that is a module: the rest are attributes."""
    while name not in modules and "." in name:
        name = name.rpartition(".")[0]
    return name


def wrong_way(edges: Iterable[Import]) -> list[str]:
    """One line for each import of a layer to the right, or of a sibling."""
    complaints = []
    for edge in edges:
        here, there = layer_of(edge.importer), layer_of(edge.imported)
        if here == there or RANK[there] < RANK[here]:
            continue
        relation = "a sibling of" if RANK[there] == RANK[here] else "right of"
        complaints.append(
            f"{edge.path}:{edge.line}: {edge.importer} imports {edge.imported}, "
            f"but {there} stands {relation} {here}"
        )
    return complaints


def cycles(edges: Iterable[Import]) -> list[str]:
    """One line for each group of modules that import each other, directly or in a ring."""
    following: dict[str, set[str]] = {}
    for edge in edges:
        if edge.importer != edge.imported:
            following.setdefault(edge.importer, set()).add(edge.imported)
    reached = {name: _reachable(name, following) for name in following}
    rings = {
        tuple(sorted({other for other in reached[name] if name in reached.get(other, ())}))
        for name in following
        if name in reached[name]
    }
    return [f"import cycle: {' <-> '.join(ring)}" for ring in sorted(rings)]


def _reachable(start: str, following: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = list(following.get(start, ()))
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(following.get(name, ()))
    return found


def foreign(source: Path, banned: str) -> list[str]:
    """Every import of a package that the sources must not know."""
    complaints = []
    for path in modules_of(source).values():
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for node in _statements(tree, for_types_too=True):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [] if node.level else [node.module or ""]
            else:
                names = _called_names(node)
            complaints += [
                f"{path}:{node.lineno}: imports {name}"
                for name in names
                if name.split(".")[0] == banned
            ]
    return complaints
