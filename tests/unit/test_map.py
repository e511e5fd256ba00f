"""docs/map.md describes the tree that is there: each module once, and no path that is gone."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

import check_links
import make_map

ROOT = Path(__file__).resolve().parents[2]


def small_tree(folder: Path) -> Path:
    files = {
        "src/thunk/__init__.py": '"""Public names."""',
        "src/thunk/types/__init__.py": '"""Types."""',
        "src/thunk/types/dtype.py": '"""Element\ntypes. Invariant: few.\n\nMore."""',
        "src/thunk/base/__init__.py": '"""Base."""',
        "tools/tool.py": '"""A tool."""',
        "docs/map.md": f"# Map\n\n{make_map.BEGIN}\n{make_map.END}\n\nThe end.\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_the_map_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_map.main(["--check"]) == 0, capsys.readouterr().out


def test_every_module_is_listed_exactly_once() -> None:
    """Counted from the text alone, without the generator's own walk."""
    folder = ""
    listed: Counter[str] = Counter()
    generated = (ROOT / make_map.MAP).read_text().partition(make_map.BEGIN)[2]
    for line in generated.partition(make_map.END)[0].splitlines():
        match = re.match(r"\s*- `([\w/.]+)`: .", line)
        if match is None:
            continue
        name = match.group(1)
        if name.endswith("/"):
            folder = name
            listed[f"src/{name}__init__.py"] += 1
        elif "/" in name:
            listed[name if name.startswith("tools/") else f"src/{name}"] += 1
        else:
            listed[f"src/{folder}{name}"] += 1
    modules = {
        path.relative_to(ROOT).as_posix()
        for top in ("src", "tools")
        for path in (ROOT / top).rglob("*.py")
    }
    assert listed == Counter(modules)


def test_every_path_named_in_the_map_exists() -> None:
    text = (ROOT / make_map.MAP).read_text()
    head, _, rest = text.partition(make_map.BEGIN)
    by_people = head + rest.partition(make_map.END)[2]
    named = re.findall(r"`((?:src|tests|tools|docs|examples|benchmarks)/[\w/.-]*)`", by_people)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_write_then_check_then_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = small_tree(tmp_path)
    assert make_map.main(["--check"], root) == 1
    assert make_map.main(["--write"], root) == 0
    assert make_map.main(["--check"], root) == 0
    text = (root / make_map.MAP).read_text()
    assert [line for line in text.splitlines() if "- `" in line] == [
        "- `thunk/base/`: Base.",
        "- `thunk/types/`: Types.",
        "  - `dtype.py`: Element types.",
        "- `thunk/__init__.py`: Public names.",
        "- `tools/tool.py`: A tool.",
    ]
    assert text.endswith("The end.\n")
    shutil.copy(root / "src/thunk/types/dtype.py", root / "src/thunk/types/size.py")
    assert make_map.main(["--check"], root) == 1
    assert "size.py" in capsys.readouterr().out


def test_a_module_without_a_docstring_is_refused(tmp_path: Path) -> None:
    root = small_tree(tmp_path)
    (root / "src/thunk/base/bare.py").write_text("x = 1\n")
    with pytest.raises(SystemExit, match=r"expected a module docstring in .*bare\.py"):
        make_map.main(["--write"], root)


def test_links_of_the_documents_hold() -> None:
    assert list(check_links.broken(ROOT)) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.md").write_text("# One Heading!\n\n## Sub `code`\n\n[up](../README.md)")
    (tmp_path / "README.md").write_text(
        "[good](docs/page.md#one-heading) [good](docs/page.md#sub-code) [out](https://example.org)\n"
        "`[code](nowhere.md)`\n\n```\n[fenced](nowhere.md)\n```\n"
        "[gone](docs/gone.md) ![gone](picture.png) [gone](docs/page.md#two)\n"
    )
    assert list(check_links.broken(tmp_path)) == [
        "README.md: link docs/gone.md: no such file",
        "README.md: link picture.png: no such file",
        "README.md: link docs/page.md#two: no such heading",
    ]
