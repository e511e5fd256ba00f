"""Enters: statements of text. Leaves: compiled statements, and a program as a runnable script.

Invariant: the text alone decides what a program does; it names the library only as `torch`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy

Statement = tuple[str, str]
Program = list[Statement]

PRELUDE = '''
import numpy


class Twice(torch.autograd.Function):
    """Saves its inputs and gives two results."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y * 2.0, x + y

    @staticmethod
    def backward(ctx, first, second):
        x, y = ctx.saved_tensors
        return first * y * 2.0 + second, first * x * 2.0 + second


class Overwrite(torch.autograd.Function):
    """Changes its input in place and says so."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(0.5)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 0.5


log = []


def kept(gradient):
    log.append(gradient.detach().clone())


def doubled(gradient):
    log.append(gradient.detach().clone())
    return gradient * 2


def seen(gradient):
    log.append(gradient.tolist())


def halve_grad(leaf):
    leaf.grad.mul_(0.5)
'''


@lru_cache(maxsize=4096)
def compiled(source: str) -> CodeType:
    return compile(source, "<statement>", "exec")


@lru_cache(maxsize=1)
def _prelude() -> CodeType:
    return compile(PRELUDE, "<prelude>", "exec")


def new_space(library: Any) -> dict[str, Any]:
    """The names a program starts with, for one library."""
    space: dict[str, Any] = {"torch": library, "__name__": "program"}
    exec(_prelude(), space)
    return space


NUMBER = re.compile(r"-?\d+\.\d*(?:e-?\d+)?")
PERTURBED = ("leaf", "from_numpy", "foreign_write")


def perturbed(program: Program, seed: int) -> Program:
    """The same program with the floats of its leaves changed in their last digits."""
    random = numpy.random.default_rng(seed)

    def near(source: str) -> str:
        relative = 1e-12
        if "float32" in source:
            relative = 3e-7
        if "bfloat16" in source:
            relative = 8e-3

        def change(match: re.Match[str]) -> str:
            noise = relative * random.uniform(-1, 1)
            return repr(float(match[0]) * (1 + noise) + noise)

        return NUMBER.sub(change, source)

    return [(kind, near(source) if kind in PERTURBED else source) for kind, source in program]


def listing(program: Program) -> str:
    """The program as Python text, one statement after the other."""
    return "\n".join(source for _, source in program)
