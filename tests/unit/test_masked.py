"""Masked operators: what is masked out has no influence, neither forward nor backward."""

from __future__ import annotations

import math

import numpy
import pytest

import thunk
from thunk import masked

VALUES = [[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]
MASK = [[True, False, True], [False, True, False]]


def pair() -> tuple[thunk.Tensor, thunk.Tensor]:
    return thunk.tensor(VALUES), thunk.tensor(MASK)


@pytest.mark.parametrize(
    ("name", "wanted"),
    (
        ("sum", [4.0, 2.0]), ("prod", [3.0, 2.0]), ("amax", [3.0, 2.0]), ("amin", [1.0, 2.0]),
        ("mean", [2.0, 2.0]), ("median", [1.0, 2.0]), ("argmax", [2.0, 1.0]),
        ("argmin", [0.0, 1.0]),
    ),
)  # fmt: skip
def test_only_what_counts_is_reduced(name: str, wanted: list[float]) -> None:
    x, mask = pair()
    assert getattr(masked, name)(x, 1, mask=mask).tolist() == wanted


def test_spread_counts_what_is_kept() -> None:
    x, mask = pair()
    found = masked.var(x, 1, mask=mask)
    assert found[0].item() == 2.0
    assert math.isnan(found[1].item())
    assert masked.std(x, 1, unbiased=False, mask=mask).tolist() == [1.0, 0.0]


def test_nothing_left_gives_the_identity() -> None:
    x, mask = thunk.tensor([1.0, 2.0]), thunk.tensor([False, False])
    assert masked.sum(x, mask=mask).item() == 0
    assert masked.amax(x, mask=mask).item() == -math.inf
    assert math.isnan(masked.mean(x, mask=mask).item())
    assert masked.amin(thunk.tensor([1, 2]), mask=mask).item() == 2**63 - 1


def test_softmax_is_zero_where_masked() -> None:
    x, mask = pair()
    found = masked.softmax(x, 1, mask=mask).numpy()
    assert (found[~numpy.array(MASK)] == 0).all()
    numpy.testing.assert_allclose(found.sum(1), 1, rtol=1e-6)
    assert masked.cumsum(x, 1, mask=mask).tolist() == [[1, 1, 4], [0, 2, 2]]


def test_a_mask_broadcasts_and_stops_gradients() -> None:
    x = thunk.tensor(VALUES, requires_grad=True)
    masked.norm(x, 2, 1, mask=thunk.tensor([True, False, False])).sum().backward()
    assert x.grad.tolist() == [[1, 0, 0], [1, 0, 0]]


def test_refusals() -> None:
    x, mask = pair()
    with pytest.raises(IndexError, match="dimensions"):
        masked.sum(x[0], mask=mask)
    with pytest.raises(ValueError, match="masked"):
        masked.mean(thunk.tensor([1, 2]))
    with pytest.raises(IndexError):
        masked.sum(x, 2)
