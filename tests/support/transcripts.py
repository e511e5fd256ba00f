"""One scenario, played with two libraries: what it said, ready to be compared.

In: a function of a library. Out: the lines it collected, with the library's name taken out.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

_GRAD_FN = re.compile(r",\s+grad_fn=<\w+>")


class Log:
    """Collects what a scenario observes."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.lines: list[str] = []

    def __call__(self, *values: Any) -> None:
        self.lines += [plain(each, self.lib) for each in values]

    def tries(self, call: Callable[[], Any]) -> None:
        """Note what `call` returns, or the type and text of what it raises."""
        try:
            self(call())
        except Exception as error:
            self(f"{type(error).__name__}: {error}")


def plain(value: Any, lib: Any) -> str:
    """`repr`, but strings as they are, and without names that differ by design."""
    text = value if isinstance(value, str) else repr(value)
    text = _GRAD_FN.sub("", text)
    return text.replace("thunk.", "torch.").replace(" at 0x", " at ").strip()


def transcript(lib: Any, scenario: Callable[[Any, Log], Any]) -> list[str]:
    """The lines of one play, with the generator at a fixed seed and warnings as lines."""
    log = Log(lib)
    lib.manual_seed(7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scenario(lib, log)
    kinds = sorted({each.category.__name__ for each in caught})
    return [*log.lines, *kinds]
