"""Layers where this framework keeps to what is documented and PyTorch 2.13 on the CPU does not."""

from __future__ import annotations

import pytest

import thunk
from thunk.autograd import gradcheck
from thunk.nn import CrossMapLRN2d
from thunk.nn import functional as F


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_scale_gradients_by_the_frequency_of_their_own_index(mode: str) -> None:
    """PyTorch divides by the frequency of another index, at the same rank among sorted ones."""
    weight = thunk.ones(6, 1, requires_grad=True)
    bags = thunk.tensor([[0, 1, 1], [5, 1, 2]])
    F.embedding_bag(bags, weight, mode=mode, scale_grad_by_freq=True).sum().backward()
    share = 1.0 if mode == "sum" else 1 / 3
    wanted = thunk.tensor([1.0, 1.0, 1.0, 0.0, 0.0, 1.0]) * share
    assert thunk.allclose(weight.grad.reshape(-1), wanted)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_gradient_of_cross_map_normalisation_is_that_of_its_values(size: int) -> None:
    """PyTorch's is that of windows one channel further on."""
    module = CrossMapLRN2d(size, alpha=0.5, beta=0.6, k=1.5)
    thunk.manual_seed(0)
    given = thunk.randn(1, 6, 2, 1, dtype=thunk.float64, requires_grad=True)
    assert gradcheck(module, (given,))
