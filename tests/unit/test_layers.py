"""The source tree keeps its form: imports go leftwards, nothing is cyclic, long or undocumented.

The judge itself is tested on small trees that break each rule.
"""

import ast
from pathlib import Path

import pytest

import layers

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
LONGEST_FILE = 500
LONGEST_LINE = 100
LONGEST_FUNCTION = 60


def source_files() -> list[Path]:
    files = sorted(SOURCE.rglob("*.py")) + sorted((ROOT / "tools").rglob("*.py"))
    assert files
    return files


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / "thunk" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for parent in path.parents:
            if parent == folder:
                break
            (parent / "__init__.py").touch()
    return folder


def complaints(folder: Path) -> list[str]:
    edges = layers.imports_of(folder)
    return layers.wrong_way(edges) + layers.cycles(edges)


def assert_none(found: list[str]) -> None:
    assert not found, "\n".join(["", *found])


def test_imports_go_leftwards() -> None:
    assert_none(layers.wrong_way(layers.imports_of(SOURCE)))


def test_no_import_cycles() -> None:
    assert_none(layers.cycles(layers.imports_of(SOURCE)))


def test_torch_is_never_imported() -> None:
    assert_none(layers.foreign(SOURCE, "torch"))


def test_every_layer_of_the_tree_is_known() -> None:
    """A folder that is no layer would silently count as a public name."""
    public = {"amp", "cuda", "distributed", "multiprocessing", "profiler", "utils"}
    known = set(layers.RANK) | public | {"masked", "signal"}
    folders = {path.parent.name for path in (SOURCE / "thunk").glob("*/__init__.py")}
    assert folders - known == set()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("base/config.py", "from thunk.types import dtype"),
        ("base/config.py", "import thunk.types.dtype"),
        ("base/config.py", "from thunk import types"),
        ("base/config.py", "from ..types import dtype"),
        ("base/config.py", "def late():\n    from thunk.types.dtype import float32"),
        ("base/config.py", "import importlib\nimportlib.import_module('thunk.types.dtype')"),
        ("base/config.py", "if not TYPE_CHECKING:\n    from thunk.types import dtype"),
        ("base/config.py", "import thunk"),
        ("lazy/trie.py", "from thunk.compiler import fusion"),
        ("nn/module.py", "from thunk.data import loader"),
        ("optim/sgd.py", "from thunk.capture import guards"),
        ("functional.py", "from thunk.compat import shim"),
    ],
)
def test_an_import_that_goes_right_is_found(tmp_path: Path, name: str, text: str) -> None:
    files = {
        "types/dtype.py": "",
        "compiler/fusion.py": "",
        "data/loader.py": "",
        "capture/guards.py": "",
        "compat/shim.py": "",
    }
    found = complaints(write_tree(tmp_path, {**files, name: text}))
    assert len(found) == 1
    assert name in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "from thunk.base import config",
        "from ..base.config import option",
        "import numpy\nimport thunkery",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from thunk.nn import module",
        "import typing\nif typing.TYPE_CHECKING:\n    from thunk.nn import module",
        "def late():\n    import thunk.base.config",
    ],
)
def test_a_lawful_import_passes(tmp_path: Path, text: str) -> None:
    files = {"base/config.py": "", "nn/module.py": "", "types/dtype.py": text}
    assert complaints(write_tree(tmp_path, files)) == []


@pytest.mark.parametrize(
    "files",
    [
        {"ops/a.py": "from thunk.ops import b", "ops/b.py": "from .a import name"},
        {
            "ops/a.py": "import thunk.ops.b",
            "ops/b.py": "from . import c",
            "ops/c.py": "from . import a",
        },
        {"ops/__init__.py": "from thunk.ops.a import x", "ops/a.py": "from thunk.ops import y"},
        {"ops/a.py": "def late():\n    from . import b", "ops/b.py": "from . import a"},
        {"one.py": "import thunk.two", "two.py": "import thunk.one"},
    ],
)
def test_a_cycle_is_found(tmp_path: Path, files: dict[str, str]) -> None:
    found = complaints(write_tree(tmp_path, files))
    assert len(found) == 1
    assert "cycle" in found[0]


def test_a_foreign_import_is_found(tmp_path: Path) -> None:
    text = "def late():\n    from torch.nn import Module"
    assert len(layers.foreign(write_tree(tmp_path, {"a.py": text}), "torch")) == 1
    assert layers.foreign(write_tree(tmp_path, {"a.py": "from .torch import x"}), "torch") == []


def test_files_and_lines_are_short() -> None:
    long = []
    for path in source_files():
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > LONGEST_FILE:
            long.append(f"{path}: {len(lines)} lines")
        long += [
            f"{path}:{number}: {len(line)} columns"
            for number, line in enumerate(lines, 1)
            if len(line) > LONGEST_LINE
        ]
    assert_none(long)


def test_functions_are_short() -> None:
    long = []
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONGEST_FUNCTION:
                    long.append(f"{path}:{node.lineno}: {node.name} has {length} lines")
    assert_none(long)


def test_every_module_has_a_docstring() -> None:
    bare = [
        str(path)
        for path in source_files()
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert_none(bare)
