"""Enters: a module of switches and new values. Leaves: a `with` block in which they hold."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def switched(module: str, **values: Any) -> Iterator[None]:
    """Other values of a module's switches inside a `with` block; None leaves one alone."""
    names = vars(sys.modules[module])
    changes = {name: value for name, value in values.items() if value is not None}
    before = {name: names[name] for name in changes}
    names.update(changes)
    try:
        yield
    finally:
        names.update(before)
