"""Reductions against numbers worked out by hand, and against exact sums."""

from __future__ import annotations

import math
import warnings

import numpy
import pytest

import thunk

NAN = math.nan
INF = math.inf


def test_float32_sums_are_pairwise_along_every_axis() -> None:
    values = numpy.random.default_rng(0).random((20_000, 3)).astype(numpy.float32)
    exact = values.astype(numpy.float64).sum(0)
    for tensor, dim in (
        (thunk.from_numpy(values), 0), (thunk.from_numpy(values.T.copy()), 1),
        (thunk.from_numpy(values).t(), 1),
    ):  # fmt: skip
        error = numpy.abs(tensor.sum(dim).numpy() - exact) / exact
        assert error.max() < 3e-7


def test_half_precision_is_summed_in_single() -> None:
    ones = thunk.ones([4096], dtype=thunk.float16)
    assert ones.sum().item() == 4096
    assert ones.mean().item() == 1
    assert thunk.ones([300], dtype=thunk.bfloat16).sum().item() == 300


def test_running_sums_are_kept_in_double() -> None:
    tenths = thunk.full([100_000], 0.1)
    wanted = float(numpy.float32(0.1)) * 100_000
    assert abs(tenths.cumsum(0)[-1].item() - wanted) < 1e-3


def test_variance_of_a_large_mean_keeps_its_digits() -> None:
    values = thunk.tensor([10_000.0, 10_001.0, 10_002.0])
    assert values.var().item() == 1.0
    assert values.std(correction=0).item() == pytest.approx(math.sqrt(2 / 3), rel=1e-6)


def test_too_few_degrees_of_freedom_warn() -> None:
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert math.isnan(thunk.ones([1]).var().item())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thunk.ones([2]).var()


def test_nan_is_largest_and_first_index_wins() -> None:
    values = thunk.tensor([1.0, NAN, 3.0, NAN])
    assert values.argmax().item() == 1
    assert values.argmin().item() == 1
    assert math.isnan(values.max().item())
    assert values.nanmedian().item() == 1.0
    assert thunk.tensor([2, 5, 5, 2]).max(0).indices.item() == 1


def test_median_is_the_lower_one() -> None:
    assert thunk.tensor([4.0, 1.0, 3.0, 2.0]).median().item() == 2.0


def test_mode_is_the_smallest_of_the_most_frequent() -> None:
    values, indices = thunk.tensor([3, 1, 3, 1, 2]).mode()
    assert (values.item(), indices.item()) == (1, 3)


@pytest.mark.parametrize(
    ("order", "wanted"), ((0, 2), (1, 7), (2, 5), (INF, 4), (-INF, 0), (3, 91 ** (1 / 3)))
)
def test_orders_of_a_norm(order: float, wanted: float) -> None:
    assert thunk.tensor([3.0, 0.0, -4.0]).norm(order).item() == pytest.approx(wanted, rel=1e-6)


def test_logsumexp_does_not_overflow() -> None:
    big = thunk.tensor([[1000.0, 1000.0], [-INF, -INF], [INF, 1.0]])
    assert big.logsumexp(1).tolist() == [pytest.approx(1000 + math.log(2)), -INF, INF]


def test_quantiles_interpolate() -> None:
    values = thunk.tensor([4.0, 1.0, 3.0, 2.0])
    assert values.quantile(0.5).item() == 2.5
    assert values.quantile(thunk.tensor([0.0, 1.0])).tolist() == [1.0, 4.0]
    assert values.quantile(0.5, interpolation="higher").item() == 3.0
    with pytest.raises(RuntimeError, match="range"):
        values.quantile(1.5)
    with pytest.raises(RuntimeError, match="range"):
        values.quantile(thunk.tensor([0.5, -0.1]))


def test_bins() -> None:
    assert thunk.bincount(thunk.tensor([1, 1, 3]), minlength=5).tolist() == [0, 2, 0, 1, 0]
    hist, edges = thunk.histogram(thunk.tensor([0.0, 0.5, 1.0]), bins=2)
    assert (hist.tolist(), edges.tolist()) == ([1.0, 2.0], [0.0, 0.5, 1.0])
    assert thunk.histc(thunk.tensor([0.0, 2.0, 9.0]), 2, 0, 4).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="bincount: expected"):
        thunk.bincount(thunk.tensor([-1]))


REFUSED = (
    (lambda x: x.mean(), RuntimeError), (lambda x: x.sum(2), IndexError),
    (lambda x: x.sum((0, 0)), RuntimeError), (lambda x: x[:0].max(), RuntimeError),
    (lambda x: x[:0].max(0), IndexError), (lambda x: x[:0].argmax(), IndexError),
    (lambda x: x.kthvalue(9), RuntimeError), (lambda x: x.topk(9), RuntimeError),
    (lambda x: x.std(), RuntimeError), (lambda x: x.prod((0, 1)), TypeError),
    (lambda x: x.norm(), RuntimeError), (lambda x: x.quantile(0.5), RuntimeError),
)  # fmt: skip


@pytest.mark.parametrize("position", range(len(REFUSED)))
def test_refusals_name_the_operator(position: int) -> None:
    call, kind = REFUSED[position]
    with pytest.raises(kind) as caught:
        call(thunk.tensor([[1, 2], [3, 4]]))
    assert str(caught.value).split(":")[0].split("(")[0].replace("_", "").isalnum()
