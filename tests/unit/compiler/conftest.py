"""Every test draws the same numbers, whichever tests ran before it in its process."""

from __future__ import annotations

import copy
from typing import Any

import numpy
import pytest

_first: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def numbers_of_its_own(request: pytest.FixtureRequest) -> None:
    """Set the generator that a module calls `random` back to where it began."""
    generator = getattr(request.module, "random", None)
    if isinstance(generator, numpy.random.Generator):
        state = _first.setdefault(request.module.__name__, generator.bit_generator.state)
        generator.bit_generator.state = copy.deepcopy(state)
