"""Gradients of gamma and Dirichlet samples: a sample keeps its rank when a parameter moves."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import thunk

STEP = 1e-4
POINTS, WEIGHTS = numpy.polynomial.legendre.leggauss(200)


def gamma_rank(alpha: Any, x: Any) -> Any:
    return thunk.special.gammainc(alpha, x)


@pytest.mark.parametrize("alpha", [0.05, 0.4, 1.0, 2.5, 30.0, 700.0])
def test_gamma_samples_keep_their_rank(alpha: float) -> None:
    middle = thunk.tensor(alpha, dtype=thunk.float64)
    spread = thunk.tensor([-2.0, -1.0, -0.2, 0.0, 0.3, 1.0, 2.5], dtype=thunk.float64)
    x = thunk.where(middle > 5, middle + spread * middle.sqrt(), middle * spread.exp())
    alphas = middle.expand(x.shape)
    slope = thunk._standard_gamma_grad(alphas, x)
    step = STEP * min(alpha, 1.0)
    above = gamma_rank(alphas + step, x + slope * step)
    below = gamma_rank(alphas - step, x - slope * step)
    drift = (above - below) / (2 * step)
    density = (gamma_rank(alphas, x + 1e-6 * x) - gamma_rank(alphas, x - 1e-6 * x)) / (2e-6 * x)
    assert ((drift / density).abs() < 2e-5 * (1 + slope.abs())).all()
    assert (slope > 0).all()


def beta_rank(x: float, a: float, b: float) -> float:
    """The incomplete beta function, by Gauss's quadrature."""
    def area(low: float, high: float) -> float:
        points = low + (high - low) * (POINTS + 1) / 2
        heights = points ** (a - 1) * (1 - points) ** (b - 1)
        return float((heights * WEIGHTS).sum() * (high - low) / 2)

    return area(0, x) / (area(0, x) + area(x, 1))


@pytest.mark.parametrize("a, b", [(2.0, 3.0), (5.5, 2.5), (20.0, 40.0), (3.0, 2.0)])
@pytest.mark.parametrize("x", [0.2, 0.3, 0.4, 0.5])
def test_shares_keep_their_rank(a: float, b: float, x: float) -> None:
    given = [thunk.tensor([each], dtype=thunk.float64) for each in (x, a, a + b)]
    slope = thunk._dirichlet_grad(*given).item() * (1 - x)
    above = beta_rank(x + slope * STEP, a + STEP, b)
    below = beta_rank(x - slope * STEP, a - STEP, b)
    density = (beta_rank(x + 1e-6, a, b) - beta_rank(x - 1e-6, a, b)) / 2e-6
    assert abs(above - below) / (2 * STEP) / density == pytest.approx(0.0, abs=1e-4 * slope)


def test_the_mean_of_samples_moves_as_it_should() -> None:
    """The mean of gamma samples is their concentration: its gradient is 1."""
    thunk.manual_seed(0)
    alpha = thunk.tensor([0.5, 2.0, 9.0], requires_grad=True)
    thunk._standard_gamma(alpha.expand(4000, 3)).mean(0).sum().backward()
    assert alpha.grad is not None
    assert (alpha.grad - 1).abs().max() < 0.1
    shares = thunk.tensor([1.0, 2.0, 0.5], requires_grad=True)
    thunk._sample_dirichlet(shares.expand(4000, 3)).mean(0)[0].backward()
    # d/da (a_0 / sum a)
    wanted = thunk.tensor([2.5, -1.0, -1.0]) / 3.5**2
    assert shares.grad is not None
    assert (shares.grad - wanted).abs().max() < 0.02


def test_extreme_arguments_stay_finite() -> None:
    alpha = thunk.tensor([1e-3, 1e-3, 1e6, 1e6, 0.7], dtype=thunk.float64)
    x = thunk.tensor([1e-280, 3.0, 9.9e5, 1.01e6, 200.0], dtype=thunk.float64)
    assert thunk._standard_gamma_grad(alpha, x).isfinite().all()
    share = thunk.tensor([1e-200, 1 - 1e-15, 0.0, 1.0], dtype=thunk.float64)
    ones = thunk.full((4,), 0.01, dtype=thunk.float64)
    assert thunk._dirichlet_grad(share, ones, ones * 3).isfinite().all()


def test_shapes_must_agree() -> None:
    with pytest.raises(RuntimeError, match="one shape"):
        thunk._standard_gamma_grad(thunk.ones(2), thunk.ones(3))
    single = thunk._standard_gamma_grad(thunk.ones(2, 3), thunk.ones(2, 3))
    assert single.dtype is thunk.float32
    assert single.shape == (2, 3)
