"""A recurrent network that learns which letter follows, trained with Adam."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from workloads.workload import Sizes, Work, Workload, Wrap, tensors, training


def data(sizes: Sizes) -> dict[str, Any]:
    generator = numpy.random.default_rng(0)
    shape = (sizes["batch"], sizes["length"])
    return {
        "letters": generator.integers(0, sizes["letters"], shape),
        "following": generator.integers(0, sizes["letters"], shape),
    }


def build(lib: Any, sizes: Sizes, arrays: Mapping[str, Any], wrap: Wrap) -> Work:
    nn, width = lib.nn, sizes["width"]

    class Writer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.letter = nn.Embedding(sizes["letters"], width)
            self.lstm = nn.LSTM(width, width, batch_first=True)
            self.head = nn.Linear(width, sizes["letters"])

        def forward(self, letters: Any) -> Any:
            return self.head(self.lstm(self.letter(letters))[0])

    given = tensors(lib, arrays)
    letters, following = given["letters"], given["following"]
    lib.manual_seed(0)
    model = Writer()

    def loss() -> Any:
        logits = model(letters)
        return nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten())

    return training(model, loss, lib.optim.Adam(model.parameters(), lr=1e-3), wrap)


def in_jax(weights: Mapping[str, Any], sizes: Sizes, arrays: Mapping[str, Any]) -> Work:
    import jax
    import jax.numpy as jnp

    from workloads import jaxes

    given = jaxes.weights_of(arrays)
    start = jnp.zeros((sizes["batch"], sizes["width"]), jnp.float32)

    def loss(p: Any, key: Any) -> Any:
        # The inputs' part of all time steps is one product; the scan has the recurrent part.
        embedded = p["letter.weight"][given["letters"]].transpose(1, 0, 2)
        inputs = embedded @ p["lstm.weight_ih_l0"].T + p["lstm.bias_ih_l0"] + p["lstm.bias_hh_l0"]

        def cell(carry: Any, inputs: Any) -> Any:
            hidden, kept = carry
            i, f, g, o = jnp.split(inputs + hidden @ p["lstm.weight_hh_l0"].T, 4, axis=-1)
            kept = jax.nn.sigmoid(f) * kept + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(kept)
            return (hidden, kept), hidden

        _, hidden = jax.lax.scan(cell, (start, start), inputs)
        logits = jaxes.linear(p, "head", hidden.transpose(1, 0, 2))
        return jaxes.cross_entropy(logits, given["following"]), {}

    return jaxes.training(jaxes.weights_of(weights), loss, jaxes.adam(1e-3))


workload = Workload(
    "lstm",
    "LSTM char model, 512 hidden, 64 steps, batch 32, Adam",
    {"batch": 32, "length": 64, "width": 512, "letters": 96},
    {"batch": 4, "length": 6, "width": 32, "letters": 96},
    data,
    build,
    in_jax,
    wanted={"torch": 1.5, "compile": 1.5, "jax": 1.2},
)
