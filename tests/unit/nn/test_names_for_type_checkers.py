"""Type checkers and editors see the same modules of `nn` as programs do."""

from __future__ import annotations

import ast
from pathlib import Path

import thunk.nn.modules as modules


def imported_for_checkers() -> list[str]:
    """The files whose names `nn.modules` imports where `TYPE_CHECKING` holds."""
    tree = ast.parse(Path(str(modules.__file__)).read_text())
    blocks = [
        node for node in tree.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    ]
    return [
        str(line.module) for block in blocks for line in block.body
        if isinstance(line, ast.ImportFrom) and line.names[0].name == "*"
    ]


def test_every_file_of_modules_is_seen() -> None:
    assert imported_for_checkers() == [file.__name__ for file in modules.FILES]
