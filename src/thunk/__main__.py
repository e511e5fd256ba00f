"""Enters: `python -m thunk ...`. Leaves: what the named command prints, and an exit status.

Invariant: the help lists exactly the commands that exist.
"""

from __future__ import annotations

import argparse
import sys

from thunk.base.config import config
from thunk.base.version import __version__
from thunk.debug.dispatch_command import SYNTAX, dispatch_text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m thunk", description="Thunk's command line.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"thunk {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    dispatch = commands.add_parser(
        "dispatch",
        help="print an operator's dispatch table, or which kernel a call takes and why",
        epilog=f"Arguments: {SYNTAX}.",
    )
    dispatch.add_argument("operator", help="add, add.Tensor or aten::add.Tensor")
    dispatch.add_argument("arguments", nargs="*", help="arguments of one call")
    commands.add_parser("options", help="list every option, its environment variable and value")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a mistake in its arguments is told in one line."""
    chosen = _parser().parse_args(arguments)
    if chosen.command == "options":
        print(config.describe())
        return 0
    try:
        print(dispatch_text(chosen.operator, chosen.arguments))
    except (RuntimeError, TypeError, ValueError) as error:
        print(f"thunk dispatch: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
