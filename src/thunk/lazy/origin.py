"""Enters: the call stack. Leaves: the user's line, and the modules whose forward it is in.

Invariant: read while an operation is recorded for the first time, never when it is found again.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

_OWN = __file__.rsplit("lazy", 1)[0]
_MODULE_CALL = f"{_OWN}nn/modules/module_call.py"


def user_line() -> str:
    """The line outside the framework that is being executed."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def module_scope() -> str:
    """The modules that are being called, outermost first: `Net/encoder.0/linear1`."""
    modules: list[Any] = []
    frame: Any = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__call__" and code.co_filename == _MODULE_CALL:
            modules.append(frame.f_locals["self"])
        frame = frame.f_back
    modules.reverse()
    names = [type(modules[0]).__name__] if modules else []
    names += [_name_in(outer, inner) for outer, inner in pairwise(modules)]
    return "/".join(names)


def _name_in(outer: Any, inner: Any) -> str:
    """What `outer` calls a module: its own name for it, through a container that nobody calls."""
    for name, child in outer._modules.items():
        if child is inner:
            return str(name)
        for below, grandchild in ({} if child is None else child._modules).items():
            if grandchild is inner:
                return f"{name}.{below}"
    return type(inner).__name__
