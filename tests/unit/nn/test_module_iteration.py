"""The quick way through parameters gives what the way by names gives, and follows own ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import thunk
from thunk import nn


def by_names(module: Any) -> list[Any]:
    return [parameter for _, parameter in module.named_parameters()]


def same(found: Any, expected: list[Any]) -> bool:
    values = list(found)
    return len(values) == len(expected) and all(map(lambda a, b: a is b, values, expected))


def test_both_ways_meet_the_same_parameters() -> None:
    shared = nn.Linear(2, 2)
    module = nn.Sequential(shared, nn.ModuleList([shared, nn.Linear(2, 2, bias=False)]))
    module[1][1].weight = shared.weight
    module.add_module("gone", None)
    module.itself = module
    assert same(module.parameters(), by_names(module))
    assert len(list(module.parameters())) == 2
    assert len(list(module.parameters(recurse=False))) == 0


def test_a_class_with_an_iteration_of_its_own_is_followed() -> None:
    class Chosen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(1, 1), nn.Linear(2, 2)

        def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
            yield from self.second.named_parameters()

    chosen = Chosen()
    assert same(chosen.parameters(), list(chosen.second.parameters()))

    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(1, 1)

        def named_modules(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
            yield "", self

    outer = nn.Sequential(nn.Linear(1, 1), Hidden())
    assert same(outer.parameters(), by_names(outer))
    assert len(list(outer.parameters())) == 2


def test_parameters_are_a_generator_and_seen_when_iterated() -> None:
    module = nn.Linear(2, 2)
    parameters = module.parameters()
    module.extra = nn.Parameter(thunk.ones(1))
    assert len(list(parameters)) == 3
