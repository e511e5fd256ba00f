"""What printed tensors say of their history: names of backward steps, as PyTorch gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import thunk
from thunk.lazy.eager import execution

Call = Callable[..., Any]
# Each takes the library, a matrix, a batch of matrices and a batch of pictures.
CALLS: dict[str, Call] = {
    "linear": lambda lib, x, x3, im: lib.nn.Linear(3, 5)(x),
    "linear without bias": lambda lib, x, x3, im: lib.nn.Linear(3, 5, bias=False)(x),
    "linear of a batch": lambda lib, x, x3, im: lib.nn.Linear(3, 5)(x3),
    "linear of a batch, no bias": lambda lib, x, x3, im: lib.nn.Linear(3, 5, bias=False)(x3),
    "mm": lambda lib, x, x3, im: x @ x.t(),
    "bmm": lambda lib, x, x3, im: lib.bmm(x3, x3.mT),
    "conv": lambda lib, x, x3, im: lib.nn.Conv2d(3, 4, 3)(im),
    "batch norm": lambda lib, x, x3, im: lib.nn.BatchNorm2d(3)(im),
    "layer norm": lambda lib, x, x3, im: lib.nn.LayerNorm(3)(x),
    "group norm": lambda lib, x, x3, im: lib.nn.GroupNorm(3, 3)(im),
    "dropout": lambda lib, x, x3, im: lib.nn.functional.dropout(x),
    "max pool": lambda lib, x, x3, im: lib.nn.functional.max_pool2d(im, 2),
    "average pool": lambda lib, x, x3, im: lib.nn.functional.avg_pool2d(im, 2),
    "adaptive pool": lambda lib, x, x3, im: lib.nn.functional.adaptive_avg_pool2d(im, 2),
    "cross entropy": lambda lib, x, x3, im: lib.nn.functional.cross_entropy(
        x, lib.tensor([0, 1])
    ),
    "nll of pictures": lambda lib, x, x3, im: lib.nn.functional.nll_loss(
        im, lib.zeros(2, 4, 4).long()
    ),
    "bce": lambda lib, x, x3, im: lib.nn.functional.binary_cross_entropy(
        x.sigmoid(), lib.ones(2, 3)
    ),
    "bce with logits": lambda lib, x, x3, im: lib.nn.functional.binary_cross_entropy_with_logits(
        x, lib.ones(2, 3)
    ),
    "log sigmoid": lambda lib, x, x3, im: lib.nn.functional.logsigmoid(x),
    "log softmax": lambda lib, x, x3, im: x.log_softmax(1),
    "interpolate": lambda lib, x, x3, im: lib.nn.functional.interpolate(im, scale_factor=2),
    "unfold": lambda lib, x, x3, im: lib.nn.functional.unfold(im, 2),
    "sum": lambda lib, x, x3, im: x.sum(),
    "sum of rows": lambda lib, x, x3, im: x.sum(1),
    "mean of rows": lambda lib, x, x3, im: x.mean(1),
    "max": lambda lib, x, x3, im: x.max(),
    "max of rows": lambda lib, x, x3, im: x.max(1)[0],
    "squeeze": lambda lib, x, x3, im: x.squeeze(),
    "squeeze one": lambda lib, x, x3, im: x.squeeze(0),
    "clamp": lambda lib, x, x3, im: x.clamp(0, 1),
    "power": lambda lib, x, x3, im: x**2,
    "power of tensors": lambda lib, x, x3, im: x.exp() ** x,
    "power of a number": lambda lib, x, x3, im: 2**x,
    "subtract": lambda lib, x, x3, im: x - 1,
    "subtract from": lambda lib, x, x3, im: 1 - x,
    "divide": lambda lib, x, x3, im: x / 2,
    "divide one": lambda lib, x, x3, im: 1 / x,
    "log1p": lambda lib, x, x3, im: x.exp().log1p(),
    "fft": lambda lib, x, x3, im: lib.fft.fft(x),
    "distances": lambda lib, x, x3, im: lib.cdist(x, x + 1),
    "reshaped copy": lambda lib, x, x3, im: x.t().reshape(6),
}


def name_of(lib: Any, call: Call) -> str:
    x, x3, im = (lib.ones(shape, requires_grad=True) for shape in ((2, 3), (2, 4, 3), (2, 3, 4, 4)))
    found: str = call(lib, x, x3, im).grad_fn.name()
    return found


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", CALLS)
def test_names_of_backward_steps(name: str, lazy: bool) -> None:
    with execution(lazy=lazy):
        found = name_of(thunk, CALLS[name])
    assert found == name_of(torch, CALLS[name])
