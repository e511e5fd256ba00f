"""Enters: Python files. Leaves: the names of PyTorch that they use and Thunk does not have.

Invariant: nothing is run; the sources are parsed and names looked up. Methods of tensors are not
seen, since a parser cannot know which objects are tensors.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thunk.base.missing import nearest
from thunk.compat.facade import ROOTS, Facade, module_for


@dataclass(frozen=True)
class Use:
    """One use of a name of PyTorch."""

    path: str
    line: int
    name: str


def check(paths: list[str]) -> tuple[str, int]:
    """The report on files and folders, and how many names are missing."""
    used = [use for path in python_files(paths) for use in uses(path)]
    missing: dict[str, list[Use]] = {}
    for use in used:
        absent = first_missing(use.name)
        if absent is not None:
            missing.setdefault(absent, []).append(use)
    lines = [_line(name, places) for name, places in sorted(missing.items())]
    known = len({use.name for use in used})
    lines.append(f"{known} names of PyTorch used, {len(missing)} missing in Thunk")
    return "\n".join(lines), len(missing)


def _line(name: str, places: list[Use]) -> str:
    first = places[0]
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    parent, _, last = name.rpartition(".")
    found, _ = lookup(parent)
    near = [f"{parent}.{each}" for each in nearest(last, dir(found))] if found is not None else []
    hint = f"; the nearest is {' or '.join(near)}" if near else ""
    return f"{first.path}:{first.line}: {name}{more}{hint}"


def python_files(paths: list[str]) -> list[Path]:
    """The Python files among `paths` and in the folders among them."""
    found: list[Path] = []
    for each in map(Path, paths):
        if not each.exists():
            raise FileNotFoundError(f"expected a file or folder, got {each}; it does not exist")
        found += sorted(each.rglob("*.py")) if each.is_dir() else [each]
    return found


def uses(path: Path) -> list[Use]:
    """Every use of a name of PyTorch in a file."""
    tree = ast.parse(path.read_bytes(), filename=str(path))
    visitor = _Visitor()
    visitor.visit(tree)
    return [Use(str(path), line, name) for line, name in visitor.found]


class _Visitor(ast.NodeVisitor):
    """Follows imports and the dotted names that begin with what they bind."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}
        self.found: list[tuple[int, str]] = []

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] in ROOTS:
                root = alias.name.partition(".")[0]
                self.bound[alias.asname or root] = alias.name if alias.asname else root
                self.found.append((node.lineno, alias.name))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level or module.partition(".")[0] not in ROOTS:
            return
        for alias in node.names:
            name = module if alias.name == "*" else f"{module}.{alias.name}"
            self.found.append((node.lineno, name))
            if alias.name != "*":
                self.bound[alias.asname or alias.name] = name

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self.bound:
            name = ".".join([self.bound[inner.id], *reversed(parts)])
            if isinstance(node.ctx, ast.Load) or name.count(".") > 1:
                self.found.append((node.lineno, name))
            return
        self.generic_visit(node)


_ABSENT = object()


def first_missing(name: str) -> str | None:
    """The shortest part of a dotted name that Thunk lacks, None if it has all of it."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        prefix = ".".join(parts[:count])
        found, ends = lookup(prefix)
        if found is None and not ends:
            return prefix
        if ends:
            return None
    return None


def lookup(name: str) -> tuple[Any, bool]:
    """The object of a dotted name, and whether it is too far inside an object to be judged."""
    root, *parts = name.split(".")
    found: Any = Facade.of(root)
    for place, part in enumerate(parts):
        if not isinstance(found, (types.ModuleType, type)):
            return found, True
        inner = getattr(found, part, _ABSENT)
        if inner is _ABSENT:
            inner = module_for(f"{root}.{'.'.join(parts[: place + 1])}")
            if inner is None:
                return None, False
        found = inner
        if found is None:
            return None, True  # a constant that is None, such as torch.version.cuda
    return found, False


def names_used(paths: list[str]) -> Iterator[str]:
    """The names of PyTorch used in files, each once."""
    yield from sorted({use.name for path in python_files(paths) for use in uses(path)})
