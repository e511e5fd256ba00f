"""`nn.functional` against torch's: every name with the same arguments, and products of groups."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as theirs
from tests.torch.layers.judge import TOLERANCE, backward, over, subject
from tests.torch.oracle.compare import Comparison
from tests.torch.oracle.subject import calls, reference

import thunk.nn.functional as ours

# Names of torch's module that are no functions of neural networks, and products of 8-bit floats.
ABSENT = {
    "assert_int_or_pair", "boolean_dispatch", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "scaled_grouped_mm", "scaled_mm",
}  # fmt: skip


def public(module: Any) -> dict[str, Callable[..., Any]]:
    return {
        name: value for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and not inspect.isclass(value)
        and not repr(value).startswith("typing.")
    }


def test_every_function_of_torch_is_there() -> None:
    assert set(public(theirs)) - set(public(ours)) == ABSENT


def described(function: Any) -> list[tuple[str, Any, Any]]:
    return [
        (each.name, each.kind, each.default)
        for each in inspect.signature(function).parameters.values()
    ]


def comparable() -> list[str]:
    found = []
    for name, function in public(theirs).items():
        try:
            arguments = list(inspect.signature(function).parameters)
        except ValueError:  # a function of C, whose arguments the operator's schema states
            continue
        if name not in ABSENT and arguments != ["args", "kwargs"]:
            found.append(name)
    return sorted(found)


@pytest.mark.parametrize("name", comparable())
def test_a_function_takes_torchs_arguments(name: str) -> None:
    assert described(getattr(ours, name)) == described(getattr(theirs, name))


SHAPES = (
    ((6, 8), (2, 8, 16), [2, 6]), ((2, 4, 8), (8, 16), [4, 16]), ((2, 4, 8), (2, 8, 16), None),
    ((4, 8), (8, 16), [4, 8]), ((6, 8), (2, 8, 16), [0, 6]),
)  # fmt: skip


@pytest.mark.parametrize(("left", "right", "ends"), SHAPES)
def test_products_of_groups_are_torchs(left: Any, right: Any, ends: Any) -> None:
    torch.manual_seed(0)
    operands = torch.randn(left), torch.randn(right)
    offs = None if ends is None else torch.tensor(ends, dtype=torch.int32)
    answers = []
    for library in (reference(), subject()):
        a, b, where = over(library, (*operands, offs))
        a.requires_grad_()
        found = library.resolve("nn.functional.grouped_mm")(a, b, offs=where)
        backward(library, found)
        answers.append([found, a.grad])
    Comparison(subject(), TOLERANCE).check(*answers)


def test_products_of_groups_that_torch_refuses() -> None:
    flat, deep = torch.ones(6, 8), torch.ones(2, 8, 16)
    offs = torch.tensor([2, 6], dtype=torch.int32)
    for arguments in (
        {}, {"offs": offs.long()}, {"offs": offs, "bias": torch.ones(2, 16)},
        {"offs": offs, "out_dtype": torch.float64}, {"offs": offs[:1]},
    ):  # fmt: skip
        for library in (reference(), subject()):
            product = library.resolve("nn.functional.grouped_mm")
            given = over(library, (flat, deep)), over(library, arguments)
            assert isinstance(calls(product, *given[0], **given[1])[1], RuntimeError)
