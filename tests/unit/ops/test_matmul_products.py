"""Products against NumPy's, and the rules that products do not share with NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

import thunk
from thunk.ops.matmul.chain import _cheapest_splits


def _numbers(*shape: int) -> Any:
    return numpy.random.default_rng(sum(shape)).standard_normal(shape)


@pytest.mark.parametrize(
    "left, right",
    [
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)),
        ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((4, 0, 3), (3, 2)),
    ],
)  # fmt: skip
def test_matmul_is_numpys(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = _numbers(*left), _numbers(*right)
    found = thunk.from_numpy(a) @ thunk.from_numpy(b)
    wanted = numpy.matmul(a, b)
    assert tuple(found.shape) == wanted.shape
    numpy.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_matmul_of_a_scalar_is_refused() -> None:
    with pytest.raises(RuntimeError, match="at least 1D"):
        thunk.matmul(thunk.ones(()), thunk.ones(2))


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij->ji", [(2, 3)]), ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]), ("i,j->ij", [(2,), (3,)]), ("bij,bjk,bkl->bil", [(2, 3, 4), (2, 4, 5),
        (2, 5, 3)]), ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]), ("ij,ij->", [(2, 3)] * 2),
        ("abc,cd,bd->a", [(2, 3, 4), (4, 5), (3, 5)]), ("iij,jk->ki", [(3, 3, 2), (2, 4)]),
        ("iiij->j", [(2, 2, 2, 3)]), ("ij,k->", [(0, 3), (2,)]),
    ],
)  # fmt: skip
def test_einsum_is_numpys(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [_numbers(*shape) for shape in shapes]
    found = thunk.einsum(equation, *[thunk.from_numpy(each) for each in arrays])
    wanted = numpy.einsum(equation, *arrays)
    numpy.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_einsum_takes_lists_of_subscripts() -> None:
    a, b = thunk.from_numpy(_numbers(2, 3)), thunk.from_numpy(_numbers(3, 4))
    wanted = (a @ b).numpy()
    for found in (
        thunk.einsum(a, [0, 1], b, [1, 2], [0, 2]), thunk.einsum(a, [0, 1], b, [1, 2]),
        thunk.einsum(a, [..., 51], b, [51, 2], [..., 2]), thunk.einsum("ij,jk", [a, b]),
    ):  # fmt: skip
        numpy.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


def test_einsum_broadcasts_dimensions_of_size_one() -> None:
    a, b = thunk.from_numpy(_numbers(2, 1)), thunk.from_numpy(_numbers(3, 4))
    wanted = (a.expand(2, 3) @ b).numpy()
    numpy.testing.assert_allclose(thunk.einsum("ij,jk->ik", a, b).numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "equation, message",
    [
        ("ij,jk", "fewer operands"), ("ijk", "does not match the number"), ("i.", "not part"),
        ("ij->ik", "does not appear"), ("ij->ii", "more than once"), ("i1", "invalid subscript"),
        ("ii", "sizes don't match"),
    ],
)  # fmt: skip
def test_einsum_names_what_is_wrong(equation: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        thunk.einsum(equation, thunk.ones(2, 3))


def test_the_addend_is_not_read_when_beta_is_zero() -> None:
    bad = thunk.full((2, 2), math.nan)
    a = thunk.ones(2, 2)
    assert thunk.addmm(bad, a, a, beta=0).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert math.isnan(thunk.addmm(bad, a, a).sum().item())


def test_integers_are_scaled_by_whole_numbers() -> None:
    a = thunk.ones((2, 2), dtype=thunk.int64)
    assert thunk.addmm(a, a, a, beta=1.9, alpha=2).tolist() == [[5, 5], [5, 5]]
    with pytest.raises(RuntimeError, match="beta must not be a floating point"):
        thunk.addr(a, a[0], a[0], beta=1.5)


def test_half_precision_products_are_summed_in_single() -> None:
    row = thunk.ones((1, 4096), dtype=thunk.float16)
    assert (row @ row.t()).item() == 4096


def test_chains_are_bracketed_where_it_is_cheapest() -> None:
    # The textbook example: ((A1 (A2 A3)) ((A4 A5) A6)).
    splits = _cheapest_splits([30, 35, 15, 5, 10, 20, 25])
    assert splits[0, 5] == 2
    assert splits[0, 2] == 0
    assert splits[3, 5] == 4


def test_kron_of_different_ranks() -> None:
    a, b = _numbers(2, 3), _numbers(4)
    found = thunk.kron(thunk.from_numpy(a), thunk.from_numpy(b)).numpy()
    numpy.testing.assert_allclose(found, numpy.kron(a, b))


def test_products_refuse_two_dtypes() -> None:
    with pytest.raises(RuntimeError, match="same dtype"):
        thunk.mm(thunk.ones(2, 2), thunk.ones((2, 2), dtype=thunk.float64))
    with pytest.raises(NotImplementedError):
        thunk.mm(thunk.ones((2, 2), dtype=thunk.bool), thunk.ones((2, 2), dtype=thunk.bool))
