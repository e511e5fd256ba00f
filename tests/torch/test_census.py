"""Nearly every one of the 350 most used names of PyTorch's API exists here.

In: the names that `census.py` requires. Out: one test a name; the names left out, with their
reasons, close the run.
"""

from __future__ import annotations

import pytest
import torch
from tests.torch.census import census, left_out_by_reason, required_names

import thunk

REQUIRED = required_names()


def lookup(library: object, name: str) -> object:
    path = name.removeprefix("torch.").split(".")
    found = library
    for part in path:
        if not hasattr(found, part):
            return None
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", REQUIRED)
def test_name_exists(name: str) -> None:
    expected = lookup(torch, name)
    found = lookup(thunk, name)
    assert found is not None, f"thunk has no {name}"
    assert callable(found) == callable(expected), f"{name}: {found!r}, in torch {expected!r}"


def test_what_is_left_out() -> None:
    left_out = [name for names in left_out_by_reason().values() for name in names]
    assert sorted([*REQUIRED, *left_out]) == sorted(census())
    assert (len(REQUIRED), len(left_out)) == (329, 21)
