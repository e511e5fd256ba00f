"""Initialisers against PyTorch: one seed gives the same bits, and the same state afterwards.

Orthogonal matrices come out of a factorization, whose last bits depend on the library that did it.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import thunk
from transcripts import Log, transcript

BOTH = (thunk, torch)
CASES: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("uniform_", (7, 5), {}), ("uniform_", (40,), {"a": -2.0, "b": 3.0}),
    ("normal_", (7, 5), {}), ("normal_", (33,), {"mean": 1.0, "std": 0.2}),
    ("trunc_normal_", (9, 11), {}), ("trunc_normal_", (50,), {"std": 0.02}),
    ("trunc_normal_", (50,), {"mean": 1.0, "std": 2.0, "a": 0.0, "b": 1.5}),
    ("trunc_normal_", (64,), {"mean": 0.0, "std": 1.0, "a": 2.0, "b": 3.0}),
    ("trunc_normal_", (64,), {"mean": 0.0, "std": 1.0, "a": -0.1, "b": 0.1}),
    ("trunc_normal_", (30,), {"mean": 5.0, "std": 1.0}),
    ("constant_", (2, 3), {"val": 2.5}), ("ones_", (3,), {}), ("zeros_", (3,), {}),
    ("eye_", (3, 5), {}), ("eye_", (4, 2), {}), ("dirac_", (3, 2, 3), {}),
    ("dirac_", (4, 2, 3, 4), {"groups": 2}), ("dirac_", (2, 3, 2, 3, 1), {}),
    ("xavier_uniform_", (5, 6), {}), ("xavier_uniform_", (4, 3, 2, 2), {"gain": 2.0}),
    ("xavier_normal_", (5, 6), {"gain": 0.5}), ("kaiming_uniform_", (5, 6), {}),
    ("kaiming_uniform_", (5, 6, 3), {"mode": "fan_out", "nonlinearity": "relu"}),
    ("kaiming_uniform_", (5, 6), {"a": 2.23606797749979}),
    ("kaiming_normal_", (5, 6), {"mode": "fan_out"}),
    ("kaiming_normal_", (3, 4, 5), {"nonlinearity": "tanh"}),
    ("sparse_", (8, 5), {"sparsity": 0.3}), ("sparse_", (5, 3), {"sparsity": 0.9, "std": 1.0}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape", "options"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_one_seed_gives_the_same_bits(
    name: str, shape: tuple[int, ...], options: dict[str, Any], dtype: str
) -> None:
    found = []
    for lib in BOTH:
        lib.manual_seed(11)
        parameter = lib.nn.Parameter(lib.empty(shape, dtype=getattr(lib, dtype)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert getattr(lib.nn.init, name)(parameter, **options) is parameter
        assert parameter.requires_grad
        assert parameter.is_leaf
        found.append((parameter.tolist(), lib.rand(3).tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["uniform_", "normal_", "trunc_normal_", "xavier_normal_"])
def test_a_generator_is_used_instead_of_the_default(name: str) -> None:
    found = []
    for lib in BOTH:
        lib.manual_seed(1)
        generator = lib.Generator()
        generator.manual_seed(5)
        tensor = getattr(lib.nn.init, name)(lib.empty(4, 4), generator=generator)
        found.append((tensor.tolist(), lib.rand(1).item()))
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3), (4, 2, 3)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    found = []
    for lib in BOTH:
        lib.manual_seed(2)
        found.append(lib.nn.init.orthogonal_(lib.empty(shape), gain=2.0))
    torch.testing.assert_close(torch.tensor(found[0].tolist()), found[1], rtol=1e-5, atol=1e-5)
    rows = found[1].reshape(shape[0], -1)
    small = rows @ rows.T if rows.shape[0] <= rows.shape[1] else rows.T @ rows
    torch.testing.assert_close(small, 4.0 * torch.eye(len(small)), rtol=1e-5, atol=1e-4)


def mistakes(lib: Any, log: Log) -> None:
    init = lib.nn.init
    for kind in (
        "linear", "conv3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu", "conv_transpose1d",
    ):  # fmt: skip
        log(init.calculate_gain(kind), init.calculate_gain(kind, 0.5))
    log.tries(lambda: init.calculate_gain("gelu"))
    log.tries(lambda: init.calculate_gain("leaky_relu", "x"))
    log.tries(lambda: init.calculate_gain("leaky_relu", True))
    for call in (
        lambda: init.eye_(lib.empty(3)), lambda: init.dirac_(lib.empty(3, 3)),
        lambda: init.dirac_(lib.empty(3, 3, 3), groups=2), lambda: init.sparse_(lib.empty(3), 0.1),
        lambda: init.orthogonal_(lib.empty(3)), lambda: init.xavier_uniform_(lib.empty(3)),
        lambda: init.kaiming_normal_(lib.empty(3, 3), mode="fan"),
        lambda: init.kaiming_uniform_(lib.empty(0, 3)), lambda: init.orthogonal_(lib.empty(0, 3)),
        lambda: init._calculate_fan_in_and_fan_out(lib.empty(3, 4, 5, 6)),
        lambda: init._calculate_correct_fan(lib.empty(3, 4), "fan_out"),
    ):  # fmt: skip
        log.tries(call)
    with lib.device("meta"):
        tensor = lib.empty(3, 3, 3)
    log(init.dirac_(tensor) is tensor, init.trunc_normal_(tensor) is tensor)
    log(init.uniform(lib.empty(2)), init.xavier_normal.__name__)


def test_mistakes_and_edges_say_the_same() -> None:
    assert transcript(thunk, mistakes) == transcript(torch, mistakes)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("Linear", (7, 5)), ("Linear", (3, 2, False)), ("Bilinear", (3, 4, 5))],
)
def test_layers_of_one_seed_have_the_same_weights(name: str, arguments: tuple[Any, ...]) -> None:
    found = []
    for lib in BOTH:
        lib.manual_seed(0)
        module = getattr(lib.nn, name)(*arguments)
        found.append({key: value.tolist() for key, value in module.state_dict().items()})
        found.append(lib.rand(1).item())
    assert found[:2] == found[2:]
