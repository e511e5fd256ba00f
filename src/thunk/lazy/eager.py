"""Enters: a call that cannot wait. Leaves: its result, computed op by op.

Invariant: inside `eager()` nothing is recorded; pending operands are computed when their values are
read.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from thunk.dispatch.call import call
from thunk.dispatch.state import state
from thunk.ir.opdef import OpDef
from thunk.lazy.metrics import count


class execution:
    """Switch this thread between lazy and eager execution inside a `with` block."""

    def __init__(self, lazy: bool) -> None:
        self._lazy = lazy

    def __enter__(self) -> None:
        self._previous = state.lazy
        state.lazy = self._lazy

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        state.lazy = self._previous


def eager() -> execution:
    """Run op by op on the reference backend inside a `with` block."""
    return execution(False)


def run_now(op: OpDef, args: tuple[Any, ...]) -> Any:
    """Run an operator whose result depends on data or chance; counted under its name."""
    count(op.full_name)
    with eager():
        return call(op, args)
