"""Result dtypes of every pair of dtypes and categories are PyTorch's, and so are its refusals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from thunk.types import promotion
from thunk.types.dtype import all_dtypes, dtype, dtype_named
from thunk.types.spec import make_spec

DTYPES = all_dtypes()
NUMBERS = (True, 2, 2.5, 2j)


def to_torch(element: dtype) -> torch.dtype:
    found = getattr(torch, element.name)
    assert isinstance(found, torch.dtype)
    return found


def outcome(call: Callable[[], Any]) -> str:
    """A dtype's name or an exception's."""
    try:
        found = call()
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
    name = str(found).removeprefix("torch.")
    return "complex64" if name == "complex32" else name  # half precision complex is not supported


def operands(element: dtype, ndim: int) -> tuple[Any, Any]:
    shape = (2,) * ndim
    return make_spec(shape, element), torch.empty(shape, dtype=to_torch(element))


@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_promote_types(first: dtype) -> None:
    for second in DTYPES:
        expected = outcome(lambda: torch.promote_types(to_torch(first), to_torch(second)))  # noqa: B023
        assert outcome(lambda: promotion.promote_types(first, second)) == expected, second  # noqa: B023


@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_can_cast(first: dtype) -> None:
    for second in DTYPES:
        expected = torch.can_cast(to_torch(first), to_torch(second))
        assert promotion.can_cast(first, second) == expected, second


@pytest.mark.parametrize("default", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_result_type_of_tensors_and_dimensionless_tensors(first: dtype, default: str) -> None:
    with default_dtype(default):
        for second in DTYPES:
            for dims in itertools.product((0, 1), repeat=2):
                (a, x), (b, y) = operands(first, dims[0]), operands(second, dims[1])
                expected = outcome(lambda: torch.result_type(x, y))  # noqa: B023
                found = outcome(lambda: promotion.result_type([a, b]))  # noqa: B023
                assert found == expected, (second, dims)


@pytest.mark.parametrize("default", ["float32", "float64", "float16"])
@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_result_type_with_numbers(first: dtype, default: str) -> None:
    with default_dtype(default):
        for number, ndim in itertools.product(NUMBERS, (0, 1)):
            spec, tensor = operands(first, ndim)
            expected = outcome(lambda: torch.result_type(tensor, number))  # noqa: B023
            for order in ([spec, number], [number, spec]):
                assert outcome(lambda: promotion.result_type(order)) == expected, (number, ndim)  # noqa: B023


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_result_type_of_numbers_alone(default: str) -> None:
    with default_dtype(default):
        for pair in itertools.product(NUMBERS, repeat=2):
            expected = outcome(lambda: torch.result_type(*pair))  # noqa: B023
            assert outcome(lambda: promotion.result_type(pair)) == expected, pair  # noqa: B023


class default_dtype:
    """Both libraries' default dtype inside a `with` block."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.before = promotion.get_default_dtype()
        promotion.set_default_dtype(dtype_named(self.name))
        torch.set_default_dtype(to_torch(dtype_named(self.name)))

    def __exit__(self, *error: object) -> None:
        promotion.set_default_dtype(self.before)
        torch.set_default_dtype(to_torch(self.before))
