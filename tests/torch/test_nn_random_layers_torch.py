"""Modules whose results are random: what holds of every draw, in torch and here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.torch.layers.judge import over, seed_everywhere, subject
from tests.torch.oracle.convert import to_array
from tests.torch.oracle.subject import reference

LIBRARIES = (reference(), subject())
ELEMENTS = {"Dropout": (400, 100)}
CHANNELS = {
    "Dropout1d": (200, 50, 3), "Dropout2d": (200, 50, 2, 2), "Dropout3d": (100, 50, 2, 1, 2),
}  # fmt: skip
# SELU's limit for large negative inputs, to which these set what they drop.
LIMIT = -1.7580993408473766


def answer(library: Any, name: str, shape: tuple[int, ...], p: float = 0.25) -> np.ndarray:
    seed_everywhere(subject())
    module = library.resolve(f"nn.{name}")(p)
    return to_array(library, module(over(library, torch.ones(shape))))


@pytest.mark.parametrize("name", ELEMENTS | CHANNELS)
def test_dropout_drops_its_share_and_scales_the_rest(name: str) -> None:
    for library in LIBRARIES:
        found = answer(library, name, (ELEMENTS | CHANNELS)[name])
        assert set(np.unique(found)) == {0.0, np.float32(1 / 0.75)}
        assert abs((found == 0).mean() - 0.25) < 0.02


@pytest.mark.parametrize("name", [*CHANNELS, "FeatureAlphaDropout"])
def test_channels_are_dropped_whole(name: str) -> None:
    for library in LIBRARIES:
        found = answer(library, name, CHANNELS.get(name, (100, 50, 4)))
        flat = found.reshape(*found.shape[:2], -1)
        assert (flat == flat[:, :, :1]).all()


@pytest.mark.parametrize("name", ["AlphaDropout", "FeatureAlphaDropout"])
def test_alpha_dropout_keeps_mean_and_variance(name: str) -> None:
    scale = 1 / np.sqrt((LIMIT * LIMIT * 0.25 + 1) * 0.75)
    shift = -LIMIT * scale * 0.25
    dropped, kept = LIMIT * scale + shift, scale + shift
    for library in LIBRARIES:
        found = answer(library, name, (200, 50))
        np.testing.assert_allclose(np.unique(found), [dropped, kept], rtol=1e-5)
        assert abs((found < 0).mean() - 0.25) < 0.02


@pytest.mark.parametrize("name", [*ELEMENTS, *CHANNELS, "AlphaDropout", "FeatureAlphaDropout"])
def test_nothing_is_dropped_in_evaluation(name: str) -> None:
    for library in LIBRARIES:
        module = library.resolve(f"nn.{name}")(0.5).eval()
        given = over(library, torch.ones(CHANNELS.get(name, (4, 3, 2))))
        assert module(given) is given


def test_dropout_in_place_changes_its_input() -> None:
    for library in LIBRARIES:
        given = over(library, torch.ones(100))
        assert library.resolve("nn.Dropout")(0.5, inplace=True)(given) is given
        assert 0 < (to_array(library, given) == 0).sum() < 100


def test_rrelu_draws_slopes_in_training_and_takes_their_mean_otherwise() -> None:
    for library in LIBRARIES:
        module = library.resolve("nn.RReLU")(0.1, 0.3)
        given = over(library, -torch.ones(1000))
        slopes = -to_array(library, module(given))
        assert 0.1 <= slopes.min() < 0.11 and 0.29 < slopes.max() <= 0.3
        np.testing.assert_allclose(to_array(library, module.eval()(given)), -0.2, rtol=1e-6)


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_windows_cover_what_they_pool(dims: int) -> None:
    """Maxima of windows of random places: the largest element is always among them."""
    for library in LIBRARIES:
        seed_everywhere(subject())
        plane = over(library, torch.arange(9.0**dims).reshape(1, 1, *[9] * dims))
        module = library.resolve(f"nn.FractionalMaxPool{dims}d")(2, output_ratio=0.5)
        found = to_array(library, module(plane))
        assert found.shape == (1, 1, *[4] * dims)
        assert found.max() == 9.0**dims - 1
        assert (np.diff(found, axis=-1) > 0).all()


def test_masks_differ_from_call_to_call_and_repeat_from_a_seed() -> None:
    for library in LIBRARIES:
        module = library.resolve("nn.Dropout")(0.5)
        given = over(library, torch.ones(100))
        seed_everywhere(subject())
        first, second = to_array(library, module(given)), to_array(library, module(given))
        seed_everywhere(subject())
        again = to_array(library, module(given))
        assert not np.array_equal(first, second)
        np.testing.assert_array_equal(first, again)


def test_dropout_between_layers_scales_what_stays() -> None:
    """A network whose second layer adds up its inputs sees their mean kept."""
    for library in LIBRARIES:
        seed_everywhere(subject())
        net = library.resolve("nn.RNN")(1, 64, 2, nonlinearity="relu", bias=False, dropout=0.5)
        with library.module.no_grad():
            for name, weight in net.named_parameters():
                weight.fill_(0.0 if name.startswith("weight_hh") else 1.0 / 64)
            net.weight_ih_l0.fill_(1.0)
        output = to_array(library, net(over(library, torch.ones(1, 200, 1)))[0])
        assert abs(output.mean() - 1.0) < 0.05
        assert output.std() > 0.02
        whole = to_array(library, net.eval()(over(library, torch.ones(1, 2, 1)))[0])
        np.testing.assert_allclose(whole, 1.0, rtol=1e-5)
