"""The command line of every generated document: bring it up to date, or say how it differs.

In: the page's path and the text it ought to have. Out: an exit status, 1 for a stale page.
"""

import argparse
import difflib
from collections.abc import Callable
from pathlib import Path


def run(
    page: Path, render: Callable[[], str], description: str, arguments: list[str] | None = None
) -> int:
    """Write the page, or compare it and print the differences."""
    parser = argparse.ArgumentParser(description=description)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--check", action="store_true", help="fail if the page is out of date")
    choice.add_argument("--write", action="store_true", help="bring the page up to date")
    options = parser.parse_args(arguments)
    new = render()
    if options.write:
        page.write_text(new, encoding="utf-8")
        return 0
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    if old == new:
        return 0
    print("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), "page", "now", n=0)))
    print(f"{page.name} is out of date; run `make docs` and commit the result")
    return 1
