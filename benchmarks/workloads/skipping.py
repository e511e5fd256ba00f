"""A deep perceptron whose layers are left out by chance, another choice at every step."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy

from workloads.workload import Sizes, Work, Workload, Wrap, tensors, training


def data(sizes: Sizes) -> dict[str, Any]:
    generator = numpy.random.default_rng(0)
    return {
        "x": generator.standard_normal((sizes["batch"], sizes["width"]), numpy.float32),
        "y": generator.standard_normal((sizes["batch"], sizes["width"]), numpy.float32),
    }


def build(lib: Any, sizes: Sizes, arrays: Mapping[str, Any], wrap: Wrap) -> Work:
    nn, width = lib.nn, sizes["width"]
    chance = random.Random(0)

    class Skipping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(12)])

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                if chance.random() < 0.5:
                    x = x + nn.functional.relu(layer(x))
            return x

    given = tensors(lib, arrays)
    x, y = given["x"], given["y"]
    lib.manual_seed(0)
    model = Skipping()

    def loss() -> Any:
        return nn.functional.mse_loss(model(x), y)

    return training(model, loss, lib.optim.SGD(model.parameters(), lr=0.01), wrap)


workload = Workload(
    "droppath",
    "MLP of 12 layers, half of them left out by chance, SGD",
    {"batch": 64, "width": 256},
    {"batch": 4, "width": 16},
    data,
    build,
    peers=("torch", "thunk"),
    wanted={"torch": 1.0},
)
