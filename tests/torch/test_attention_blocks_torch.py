"""Attention over long sequences, which is computed by blocks, against PyTorch."""

from typing import Any

import numpy
import pytest
import torch

import thunk

RANDOM = numpy.random.default_rng(8)


def both(values: Any, grad: bool = False) -> tuple[Any, Any]:
    return thunk.tensor(values, requires_grad=grad), torch.tensor(values, requires_grad=grad)


def inputs(length: int, keys: int, split: bool) -> list[tuple[Any, Any]]:
    """Queries, keys and values in both frameworks; `split` views heads inside rows."""
    found = []
    for each in (length, keys, keys):
        shape = (2, each, 2, 8) if split else (2, 2, each, 8)
        pair = both(RANDOM.standard_normal(shape).astype("f4"), grad=True)
        found.append(pair)
    return found


def compare(split: bool, keys: int, mask: Any = None, **options: Any) -> None:
    pairs = inputs(600, keys, split)
    masks = (None, None) if mask is None else both(mask)
    factor = both(RANDOM.standard_normal((2, 2, 600, 8)).astype("f4"))
    results = []
    for side, library in enumerate((thunk, torch)):
        operands = [pair[side] for pair in pairs]
        heads = [each.transpose(1, 2) for each in operands] if split else operands
        attention = library.nn.functional.scaled_dot_product_attention
        out = attention(*heads, attn_mask=masks[side], **options)
        (out * factor[side]).sum().backward()
        results.append((out, [each.grad for each in operands]))
    (ours, our_gradients), (theirs, their_gradients) = results
    assert tuple(ours.stride()) == tuple(theirs.stride())
    near = {"rtol": 1e-4, "atol": 2e-5}
    numpy.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), **near)
    for mine, wanted in zip(our_gradients, their_gradients):
        numpy.testing.assert_allclose(mine.numpy(), wanted.numpy(), **near)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.2}], ids=str)
def test_plain_and_causal(split: bool, options: dict[str, Any]) -> None:
    compare(split, 600, **options)


@pytest.mark.parametrize("keys", [100, 700])
def test_other_numbers_of_keys(keys: int) -> None:
    compare(True, keys)
    compare(True, keys, is_causal=True)


@pytest.mark.parametrize("shape", [(600, 300), (1, 300), (2, 1, 600, 300), (2, 2, 600, 300)])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks(shape: tuple[int, ...], kind: str) -> None:
    mask = RANDOM.random(shape) > 0.2
    compare(False, 300, mask if kind == "bool" else RANDOM.standard_normal(shape).astype("f4"))


def test_queries_that_may_attend_to_nothing() -> None:
    mask = RANDOM.random((600, 300)) > 0.2
    mask[[0, 77]] = False
    compare(False, 300, mask)
