"""Enters: a script, a module or a line of code, and arguments. Leaves: what it does, on Thunk.

Invariant: the program sees what plain Python would show it: `sys.argv`, `__main__`, `__file__`,
`sys.path`, exit status; its tracebacks begin with its own first line.
"""

from __future__ import annotations

import builtins
import linecache
import re
import runpy
import sys
import types
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from thunk.base.missing import missing
from thunk.compat.finder import install

# Where processes that the program starts find `torch`: spawned ones inherit the search path.
CHILDREN = Path(__file__).parent / "path"


def run_script(path: str, arguments: list[str]) -> None:
    """Run a file, or a folder with a `__main__.py`."""
    file = Path(path)
    _prepare([path, *arguments], str(file.resolve().parent))
    if file.is_dir() or file.suffix in (".zip", ".pyz"):
        runpy.run_path(path, run_name="__main__")
        return
    absolute = str(file.absolute())
    module = _main_module()
    module.__file__ = absolute
    module.__dict__["__cached__"] = None
    module.__loader__ = SourceFileLoader("__main__", absolute)
    _cut_tracebacks(absolute)
    source = file.read_bytes()
    exec(compile(source, absolute, "exec", dont_inherit=True), module.__dict__)


def run_module(name: str, arguments: list[str]) -> None:
    """Run a module, as `python -m` does."""
    _prepare([name, *arguments], str(Path.cwd()))
    _cut_tracebacks(None)
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def run_code(code: str, arguments: list[str]) -> None:
    """Run a line of code, as `python -c` does."""
    _prepare(["-c", *arguments], "")
    module = _main_module()
    _cut_tracebacks("<string>")
    # Python shows no lines of such code; `inspect` may.
    linecache.cache["<string>"] = (len(code), None, code.splitlines(True), "<string>")
    exec(compile(code, "<string>", "exec", dont_inherit=True), module.__dict__)


def _prepare(argv: list[str], folder: str) -> None:
    sys.argv[:] = argv
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder
        sys.path.insert(1, str(CHILDREN))
    else:
        sys.path.insert(0, str(CHILDREN))
    install()


def _main_module() -> types.ModuleType:
    """A fresh `__main__`; spawned processes find the program by its `__file__`."""
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __builtins__=builtins, __annotations__={}, __spec__=None, __package__=None
    )
    sys.modules["__main__"] = module
    return module


Hook = Callable[[type[BaseException], BaseException, types.TracebackType | None], Any]


def _cut_tracebacks(first: str | None) -> None:
    """Print uncaught exceptions without the frames that lead to the program."""
    previous: Hook = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
    ) -> None:
        cut = _cut(trace, first)
        if isinstance(error, ImportError):
            _say_what_is_there(error)
        previous(kind, error.with_traceback(cut), cut)

    sys.excepthook = hook


def _say_what_is_there(error: ImportError) -> None:
    """Python's words for `from torch.nn import Linaer` do not tell whose module it is."""
    found = re.match(r"cannot import name '(\w+)'", error.msg)
    module = sys.modules.get(error.name or "")
    if found is None or module is None or (error.name or "").partition(".")[0] != "thunk":
        return
    error.add_note(missing(module.__name__, found[1], dir(module)))


def _cut(trace: types.TracebackType | None, first: str | None) -> types.TracebackType | None:
    here = str(Path(__file__).parent.parent)
    rest = trace
    while rest is not None:
        name = rest.tb_frame.f_code.co_filename
        own = name.startswith((here, "<frozen")) or name.endswith("runpy.py")
        if name == first or (first is None and not own):
            return rest
        rest = rest.tb_next
    # A mistake in the program's syntax, or a program that never began.
    return None if first is not None else trace
