"""The same small problem for both libraries: weights copied, gradients equal, steps compared.

In: a function that makes an optimizer from a library's `optim` module and parameters. Out: both
sides after some steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import torch

import thunk

Make = Callable[[Any, list[Any]], Any]

SHAPES = ((4, 3), (2, 3, 2), ())


def values(dtype: str, seed: int = 0) -> list[Any]:
    generator = numpy.random.default_rng(seed)
    made = [generator.standard_normal(shape) for shape in SHAPES]
    if dtype.startswith("complex"):
        made = [each + 1j * generator.standard_normal(each.shape) for each in made]
    return [numpy.asarray(each).astype(dtype) for each in made]


class Side:
    """One library's parameters, optimizer and loss."""

    def __init__(self, library: Any, make: Make, dtype: str, shapes: int = len(SHAPES)) -> None:
        self.library = library
        self.params = [self.leaf(each) for each in values(dtype)[:shapes]]
        self.dtype = dtype
        self.steps = 0
        self.optimizer = make(library.optim, self.params)

    def tensor(self, array: Any) -> Any:
        return self.library.from_numpy(numpy.array(array))

    def leaf(self, array: Any) -> Any:
        return self.tensor(array).requires_grad_()

    def loss(self) -> Any:
        """A bowl under a slope that changes from step to step.

        The slope keeps gradients away from zero, where rules that divide by their size would show
        rounding instead of arithmetic.
        """
        self.steps += 1
        total = 0
        for param, slope in zip(self.params, values(self.dtype, self.steps), strict=False):
            part = (param * self.tensor(slope).conj()) + 0.02 * param * param.conj()
            total = total + (part.real if param.is_complex() else part).sum()
        return total

    def step(self, number: int = 1) -> None:
        self.optimizer.zero_grad()
        self.loss().backward()
        if number % 3 == 0:
            self.params[-1].grad = None
        self.optimizer.step()

    def run(self, steps: int) -> None:
        for number in range(1, steps + 1):
            self.step(number)

    def arrays(self) -> list[Any]:
        return [each.detach().numpy() for each in self.params]


def pair(make: Make, dtype: str, shapes: int = len(SHAPES)) -> tuple[Side, Side]:
    return Side(torch, make, dtype, shapes), Side(thunk, make, dtype, shapes)


def assert_same(theirs: Side, ours: Side, rtol: float, atol: float) -> None:
    for index, (wanted, found) in enumerate(zip(theirs.arrays(), ours.arrays(), strict=True)):
        numpy.testing.assert_allclose(
            found, wanted, rtol=rtol, atol=atol, err_msg=f"parameter {index}"
        )


def translated(value: Any, library: Any) -> Any:
    """A nest of containers with every tensor made `library`'s."""
    if isinstance(value, (torch.Tensor, thunk.Tensor)):
        return library.from_numpy(numpy.array(value.detach().numpy()))
    if isinstance(value, dict):
        return {key: translated(each, library) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(translated(each, library) for each in value)
    return value
