"""The tutorial's convolutional network for digits, trained with Adadelta."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from workloads.workload import Sizes, Work, Workload, Wrap, tensors, training


def data(sizes: Sizes) -> dict[str, Any]:
    generator = numpy.random.default_rng(0)
    return {
        "images": generator.standard_normal((sizes["batch"], 1, 28, 28), numpy.float32),
        "labels": generator.integers(0, 10, sizes["batch"]),
    }


def network(lib: Any, first: float, second: float) -> Any:
    """The model, with these probabilities of dropout."""
    nn, functional = lib.nn, lib.nn.functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 32, 3)
            self.conv2 = nn.Conv2d(32, 64, 3)
            self.dropout1 = nn.Dropout(first)
            self.dropout2 = nn.Dropout(second)
            self.fc1 = nn.Linear(9216, 128)
            self.fc2 = nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            x = functional.relu(self.conv1(x))
            x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
            x = lib.flatten(self.dropout1(x), 1)
            x = self.dropout2(functional.relu(self.fc1(x)))
            return functional.log_softmax(self.fc2(x), dim=1)

    return Net()


def build(lib: Any, sizes: Sizes, arrays: Mapping[str, Any], wrap: Wrap) -> Work:
    given = tensors(lib, arrays)
    images, labels = given["images"], given["labels"]
    lib.manual_seed(0)
    model = network(lib, *sizes["dropout"])

    def loss() -> Any:
        return lib.nn.functional.nll_loss(model(images), labels)

    return training(model, loss, lib.optim.Adadelta(model.parameters(), lr=1.0), wrap)


def in_jax(weights: Mapping[str, Any], sizes: Sizes, arrays: Mapping[str, Any]) -> Work:
    import jax
    import jax.numpy as jnp

    from workloads import jaxes

    given = jaxes.weights_of(arrays)

    def dropout(x: Any, probability: float, key: Any) -> Any:
        if not probability:
            return x
        kept = jax.random.bernoulli(key, 1 - probability, x.shape)
        return jnp.where(kept, x / (1 - probability), 0)

    def loss(p: Any, key: Any) -> Any:
        x = given["images"]
        for name in ("conv1", "conv2"):
            bias = p[f"{name}.bias"][:, None, None]
            x = jax.nn.relu(jaxes.convolution(p[f"{name}.weight"], x) + bias)
        first, second = jax.random.split(key)
        x = dropout(jaxes.max_pool(x, 2, 2), sizes["dropout"][0], first).reshape(len(x), -1)
        x = dropout(jax.nn.relu(jaxes.linear(p, "fc1", x)), sizes["dropout"][1], second)
        return jaxes.cross_entropy(jaxes.linear(p, "fc2", x), given["labels"]), {}

    return jaxes.training(jaxes.weights_of(weights), loss, jaxes.adadelta(1.0))


workload = Workload(
    "cnn",
    "tutorial CNN, batch 64, Adadelta",
    {"batch": 64, "dropout": (0.25, 0.5)},
    {"batch": 4, "dropout": (0.25, 0.5)},
    data,
    build,
    in_jax,
    exact={"dropout": (0.0, 0.0)},
    wanted={"torch": 2.3, "compile": 2.3, "jax": 7},
)
