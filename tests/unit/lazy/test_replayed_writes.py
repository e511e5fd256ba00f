"""Writes that are done again on a walked path rely only on what holds now."""

from __future__ import annotations

import thunk
from thunk.lazy.eager import execution


def written(shown: bool) -> list[float]:
    """A result after a write, looked at through itself or through what shares its memory."""
    result = thunk.ones(3) * 2
    alias = result.data if shown else result
    result.add_(1)
    found: list[float] = alias.tolist()
    return found


def test_a_write_reaches_an_alias_that_the_path_does_not_tell_of() -> None:
    with execution(True):
        for shown in (False, False, True, False, True):
            assert written(shown) == [3.0, 3.0, 3.0]
