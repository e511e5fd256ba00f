"""Writes the tree part of docs/map.md from the modules' own docstrings, or checks that it is so.

In: the source tree. Out: one line a module, folders in data-flow order (the order of layers).
Invariant: a module's line is its docstring's first paragraph, so each fact stands in one place.

    python tools/make_map.py --check | --write
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import generated
import layers

ROOT = Path(__file__).resolve().parents[1]
MAP = Path("docs/map.md")
BEGIN = "<!-- tree: begin (written by `make docs`) -->"
END = "<!-- tree: end -->"


def summary(path: Path) -> str:
    """The first paragraph of a module's docstring on one line, without the invariant."""
    source = path.read_text(encoding="utf-8") if path.exists() else ""
    text = ast.get_docstring(ast.parse(source))
    if not text:
        raise SystemExit(f"make_map: expected a module docstring in {path}, got none; write one")
    paragraph = " ".join(text.split("\n\n")[0].split())
    return paragraph.split(" Invariant:")[0]


def in_order(package: Path) -> list[Path]:
    """The top-level modules and folders of the package, as data flows through them."""
    parts = [
        path
        for path in sorted(package.iterdir())
        if path.suffix == ".py" or (path.is_dir() and any(path.rglob("*.py")))
    ]
    return sorted(parts, key=lambda path: (layers.RANK[_layer(path)], path.is_dir(), path.name))


def _layer(path: Path) -> str:
    return layers.layer_of(f"{layers.PACKAGE}.{path.stem}")


def folder_lines(folder: Path, root: Path, depth: int = 0) -> Iterator[str]:
    """A folder's line, its modules' lines, then those of the folders in it."""
    indent = "  " * depth
    name = folder.relative_to(root).as_posix()
    yield f"{indent}- `{name}/`: {summary(folder / '__init__.py')}"
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield f"{indent}  - `{path.name}`: {summary(path)}"
    for path in sorted(folder.iterdir()):
        if path.is_dir() and any(path.rglob("*.py")):
            yield from folder_lines(path, root, depth + 1)


def tree_lines(root: Path) -> list[str]:
    """The generated part of the map."""
    package = root / "src" / layers.PACKAGE
    found: list[str] = []
    for path in in_order(package):
        if path.is_dir():
            found += folder_lines(path, root / "src")
        else:
            name = path.relative_to(root / "src").as_posix()
            found.append(f"- `{name}`: {summary(path)}")
    for path in sorted((root / "tools").glob("*.py")):
        found.append(f"- `tools/{path.name}`: {summary(path)}")
    return found


def rendered(root: Path) -> str:
    """The whole map: what people wrote around the markers, and the tree between them."""
    text = (root / MAP).read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"make_map: expected the lines {BEGIN!r} and {END!r} once each in {MAP}")
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return "\n".join([head + BEGIN, "", *tree_lines(root), "", END + tail])


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write the map, or print how it differs and return 1."""
    description = "the map of the tree, from its docstrings"
    return generated.run(root / MAP, lambda: rendered(root), description, arguments)


if __name__ == "__main__":
    sys.exit(main())
