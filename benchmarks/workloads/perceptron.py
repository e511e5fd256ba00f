"""A perceptron 784-128-64-10 trained with Adam."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from workloads.workload import Sizes, Work, Workload, Wrap, tensors, training


def data(sizes: Sizes) -> dict[str, Any]:
    generator = numpy.random.default_rng(0)
    return {
        "images": generator.standard_normal((sizes["batch"], 784), numpy.float32),
        "labels": generator.integers(0, 10, sizes["batch"]),
    }


def build(lib: Any, sizes: Sizes, arrays: Mapping[str, Any], wrap: Wrap) -> Work:
    nn, given = lib.nn, tensors(lib, arrays)
    images, labels = given["images"], given["labels"]
    lib.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
    )

    def loss() -> Any:
        return nn.functional.cross_entropy(model(images), labels)

    return training(model, loss, lib.optim.Adam(model.parameters(), lr=1e-3), wrap)


def in_jax(weights: Mapping[str, Any], sizes: Sizes, arrays: Mapping[str, Any]) -> Work:
    import jax

    from workloads import jaxes

    given = jaxes.weights_of(arrays)

    def loss(p: Any, key: Any) -> Any:
        x = jax.nn.relu(jaxes.linear(p, "0", given["images"]))
        x = jax.nn.relu(jaxes.linear(p, "2", x))
        return jaxes.cross_entropy(jaxes.linear(p, "4", x), given["labels"]), {}

    return jaxes.training(jaxes.weights_of(weights), loss, jaxes.adam(1e-3))


workload = Workload(
    "mlp",
    "MLP 784-128-64-10, batch 64, Adam",
    {"batch": 64},
    {"batch": 8},
    data,
    build,
    in_jax,
    wanted={"torch": 3.5, "compile": 4, "jax": 1.8},
)
