"""Enters: `python -m thunk ...`. Leaves: what the command prints or the script does; exit status.

Invariant: the help lists exactly the commands that exist; everything behind a script's name is
the script's own.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from thunk.base.config import config
from thunk.base.version import __version__
from thunk.compat import demo
from thunk.compat.check import check
from thunk.compat.doctor import diagnose
from thunk.compat.report import report_at_exit
from thunk.compat.run import run_code, run_module, run_script
from thunk.debug.dispatch_command import SYNTAX, dispatch_text

USAGE = """\
python -m thunk [--report] [--eager] script.py [argument...]   run a PyTorch script on Thunk
       python -m thunk [--report] [--eager] -m module [argument...]   run a module
       python -m thunk [--report] [--eager] -c code [argument...]     run a line of code
       python -m thunk command ..."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m thunk",
        usage=USAGE,
        description="Runs PyTorch scripts on Thunk without changing them; and tools around it.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"thunk {__version__}")
    parser.add_argument(
        "--report", action="store_true", help="print time and statistics when the script ends"
    )
    parser.add_argument(
        "--eager", action="store_true", help="run each operation at once, recording nothing"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    checked = commands.add_parser(
        "check", help="list the names of PyTorch in files that Thunk lacks, without running them"
    )
    checked.add_argument("paths", nargs="+", help="Python files, and folders of them")
    demo.arguments_of(
        commands.add_parser("demo", help="train a network on the digits that come with the package")
    )
    commands.add_parser("doctor", help="print what this installation consists of and what works")
    dispatch = commands.add_parser(
        "dispatch",
        help="print an operator's dispatch table, or which kernel a call takes and why",
        epilog=f"Arguments: {SYNTAX}.",
    )
    dispatch.add_argument("operator", help="add, add.Tensor or aten::add.Tensor")
    dispatch.add_argument("arguments", nargs="*", help="arguments of one call")
    commands.add_parser("options", help="list every option, its environment variable and value")
    return parser


def _dispatch(chosen: argparse.Namespace) -> int:
    try:
        print(dispatch_text(chosen.operator, chosen.arguments))
    except (RuntimeError, TypeError, ValueError) as error:
        print(f"thunk dispatch: {error}", file=sys.stderr)
        return 2
    return 0


def _options(chosen: argparse.Namespace) -> int:
    print(config.describe())
    return 0


def _check(chosen: argparse.Namespace) -> int:
    try:
        text, missing = check(chosen.paths)
    except (FileNotFoundError, SyntaxError) as error:
        print(f"thunk check: {error}", file=sys.stderr)
        return 2
    print(text)
    return 1 if missing else 0


def _doctor(chosen: argparse.Namespace) -> int:
    text, healthy = diagnose()
    print(text)
    return 0 if healthy else 1


def _demo(chosen: argparse.Namespace) -> int:
    demo.run(chosen)
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "check": _check,
    "demo": _demo,
    "dispatch": _dispatch,
    "doctor": _doctor,
    "options": _options,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command or one script; a mistake in its arguments is told in one line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    switches: set[str] = set()
    while words and words[0] in ("--report", "--eager"):
        switches.add(words.pop(0))
    if words and (words[0] in ("-m", "-c") or not _is_command(words[0])):
        return _run(words, switches)
    chosen = _parser().parse_args(words)
    return COMMANDS[chosen.command](chosen)


def _is_command(word: str) -> bool:
    return word in COMMANDS or word.startswith("-")


def _run(words: list[str], switches: set[str]) -> int:
    option = "eager" if "--eager" in switches else "lazy"
    setattr(config, option, True)
    os.environ[f"THUNK_{option.upper()}"] = "1"  # for the processes that the script starts
    kind = words.pop(0) if words[0] in ("-m", "-c") else ""
    if not words:
        print(f"thunk: expected a {'module' if kind == '-m' else 'line of code'} behind {kind}",
              file=sys.stderr)  # fmt: skip
        return 2
    target, arguments = words[0], words[1:]
    if not kind and not os.path.exists(target):
        print(
            f"thunk: expected a script or one of {', '.join(COMMANDS)}, got {target!r}, "
            "which does not exist",
            file=sys.stderr,
        )
        return 2
    if "--report" in switches:
        report_at_exit()
    {"": run_script, "-m": run_module, "-c": run_code}[kind](target, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
