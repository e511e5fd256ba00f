"""Optimizers that look at whole parameters or at values, compared with torch's."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
from tests.torch.optim_pairs import Side, assert_same, pair, translated

import thunk


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def descend(library: Any, dtype: str, steps: int, **options: Any) -> tuple[Any, Any, list[float]]:
    """Minimise with L-BFGS; the point, the optimizer and the loss of every evaluation."""
    x = library.from_numpy(numpy.array([-1.2, 1.0, 0.7, -0.3], dtype)).requires_grad_()
    optimizer = library.optim.LBFGS([x], **options)
    losses: list[float] = []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return x, optimizer, losses


@pytest.mark.parametrize(
    "options",
    [
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "lr": 0.1, "history_size": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 5, "max_eval": 6},
        {"line_search_fn": "strong_wolfe", "max_eval": 1},
        {"lr": 0.001, "max_iter": 4},
        {"lr": 0.002, "history_size": 2, "tolerance_change": 1e-3},
    ],
)
def test_lbfgs_evaluates_where_torch_does(options: dict[str, Any]) -> None:
    theirs = descend(torch, "float64", 4, **options)
    ours = descend(thunk, "float64", 4, **options)
    assert len(ours[2]) == len(theirs[2])
    numpy.testing.assert_allclose(ours[2], theirs[2], rtol=1e-7, atol=1e-12)
    numpy.testing.assert_allclose(ours[0].detach().numpy(), theirs[0].detach().numpy(), rtol=1e-7)
    wanted = theirs[1].state_dict()["state"][0]
    found = ours[1].state_dict()["state"][0]
    assert set(found) == set(wanted)
    for name in ("func_evals", "n_iter"):
        assert found[name] == wanted[name]
    assert len(found["old_dirs"]) == len(wanted["old_dirs"])


def test_lbfgs_in_single_precision_finds_the_same_minimum() -> None:
    x, _, _ = descend(thunk, "float32", 5, line_search_fn="strong_wolfe")
    wanted, _, _ = descend(torch, "float64", 5, line_search_fn="strong_wolfe")
    numpy.testing.assert_allclose(x.detach().numpy(), wanted.detach().numpy(), rtol=1e-3)


def test_lbfgs_goes_on_from_torchs_state() -> None:
    options: dict[str, Any] = {"max_iter": 4, "line_search_fn": "strong_wolfe"}
    _, _, whole = descend(torch, "float64", 4, **options)
    x, optimizer, losses = descend(torch, "float64", 2, **options)
    ours, second, _ = descend(thunk, "float64", 0, **options)
    with thunk.no_grad():
        ours.copy_(thunk.from_numpy(x.detach().numpy()))
    second.load_state_dict(translated(optimizer.state_dict(), thunk))

    def closure() -> Any:
        second.zero_grad()
        loss = rosenbrock(ours)
        loss.backward()
        losses.append(loss.item())
        return loss

    second.step(closure)
    second.step(closure)
    numpy.testing.assert_allclose(losses, whole, rtol=1e-7, atol=1e-12)


def test_lbfgs_over_complex_and_gradientless_parameters() -> None:
    def run(library: Any) -> list[Any]:
        def leaf(value: Any) -> Any:
            return library.tensor(value, dtype=library.complex128).requires_grad_()

        z, unused = leaf([1.0 + 2.0j, -0.5j]), leaf([1.0])
        optimizer = library.optim.LBFGS([z, unused], lr=0.3)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = ((z - 1).abs() ** 2 * library.tensor([1.0, 4.0])).sum()
            loss.backward()
            return loss

        first = optimizer.step(closure)
        return [first.item(), z.detach().numpy(), unused.detach().numpy()]

    for wanted, found in zip(run(torch), run(thunk), strict=True):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.05},
        {"lr": 0.5, "weight_decay": 0.1, "maximize": True},
        {"lr": 0.05, "beta2_decay": -0.5, "d": 2.0, "eps": (1e-8, 1e-2)},
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_adafactor_steps_as_torchs(options: dict[str, Any], dtype: str) -> None:
    theirs, ours = pair(lambda optim, params: optim.Adafactor(params, **options), dtype)
    theirs.run(12)
    ours.run(12)
    limit = 5e-6 if dtype == "float32" else 1e-11
    assert_same(theirs, ours, limit, limit / 2)
    wanted, found = theirs.optimizer.state_dict(), ours.optimizer.state_dict()
    assert found["param_groups"] == wanted["param_groups"]
    for number, state in wanted["state"].items():
        assert list(found["state"][number]) == list(state)
        for name, value in state.items():
            got = found["state"][number][name]
            assert str(got.dtype) == str(value.dtype)
            numpy.testing.assert_allclose(got.numpy(), value.numpy(), rtol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.02},
        {"lr": 0.02, "nesterov": False, "adjust_lr_fn": "match_rms_adamw", "momentum": 0.5},
        {"lr": 0.02, "weight_decay": 0.0, "adjust_lr_fn": "original", "ns_steps": 3},
    ],
)
def test_muon_steps_as_torchs(options: dict[str, Any]) -> None:
    def side(library: Any) -> Side:
        return Side(library, lambda optim, params: optim.Muon(params, **options), "float32", 1)

    theirs, ours = side(torch), side(thunk)
    for each in (theirs, ours):
        for number in (1, 2, 4, 5, 7):
            each.step(number)
    assert_same(theirs, ours, 0.02, 2e-3)  # the orthogonal matrix is computed in bfloat16
    theirs, ours = (
        each.optimizer.state_dict()["state"][0]["momentum_buffer"].numpy()
        for each in (theirs, ours)
    )
    numpy.testing.assert_allclose(ours, theirs, rtol=0.01, atol=1e-3)


def test_muon_works_on_tall_matrices_as_on_wide() -> None:
    def run(library: Any, rows: int, columns: int) -> Any:
        generator = numpy.random.default_rng(3)
        start = generator.standard_normal((rows, columns)).astype("float32")
        x = library.from_numpy(start.copy()).requires_grad_()
        optimizer = library.optim.Muon([x], lr=0.1, weight_decay=0.0)
        (x * x).sum().backward()
        optimizer.step()
        return x.detach().numpy() - start

    for rows, columns in ((7, 3), (3, 7)):
        moved = run(thunk, rows, columns)
        numpy.testing.assert_allclose(moved, run(torch, rows, columns), atol=4e-3)
        assert 0.03 < numpy.linalg.svd(moved / 0.1)[1].min()
