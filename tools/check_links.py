"""Checks that every relative link in the project's Markdown leads somewhere.

In: every page of the project. Out: one line for each link whose file or heading does not exist.
Links to other hosts are left alone: a check must not need the network.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def documents(root: Path) -> list[Path]:
    """Every Markdown page that belongs to the project."""
    folders = ("docs", "src", "tests", "benchmarks", "examples")
    pages = [page for folder in folders for page in sorted((root / folder).rglob("*.md"))]
    return sorted(root.glob("*.md")) + pages


def prose(path: Path) -> str:
    """A page's text without its code blocks."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """The fragment names of a page's headings, as code hosts derive them."""
    found: set[str] = set()
    for heading in HEADING.findall(prose(path)):
        words = re.sub(r"[^\w\- ]", "", heading.lower())
        name = base = words.replace(" ", "-")
        count = 0
        while name in found:
            count += 1
            name = f"{base}-{count}"
        found.add(name)
    return found


def broken(root: Path) -> Iterator[str]:
    """One line for each link that leads nowhere."""
    for page in documents(root):
        for match in LINK.finditer(CODE.sub("", prose(page))):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            name, _, fragment = target.partition("#")
            goal = page.parent / name if name else page
            where = f"{page.relative_to(root)}: link {target}"
            if not goal.exists():
                yield f"{where}: no such file"
            elif fragment and goal.suffix == ".md" and fragment not in anchors(goal):
                yield f"{where}: no such heading"


def main(root: Path = ROOT) -> int:
    """Print what is broken; the exit status says whether anything was."""
    found = list(broken(root))
    good = f"check_links: {len(documents(root))} pages, every link holds"
    print("\n".join(found) if found else good)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
