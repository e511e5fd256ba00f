"""Passages of ever another length: rows of a table, running sums, a linear layer."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy

from workloads.workload import Sizes, Work, Workload, Wrap, tensors, training


def data(sizes: Sizes) -> dict[str, Any]:
    generator = numpy.random.default_rng(0)
    longest, letters = sizes["longest"], sizes["letters"]
    return {
        "letters": generator.integers(0, letters, (sizes["batch"], longest)),
        "following": generator.integers(0, letters, (sizes["batch"], longest)),
        "order": generator.permutation(numpy.arange(8, longest + 1)),
    }


def build(lib: Any, sizes: Sizes, arrays: Mapping[str, Any], wrap: Wrap) -> Work:
    nn = lib.nn

    class Running(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.letter = nn.Embedding(sizes["letters"], sizes["width"])
            self.head = nn.Linear(sizes["width"], sizes["letters"])

        def forward(self, letters: Any) -> Any:
            return self.head(self.letter(letters).cumsum(1))

    given = tensors(lib, {name: arrays[name] for name in ("letters", "following")})
    letters, following = given["letters"], given["following"]
    order, steps = arrays["order"].tolist(), count()
    lib.manual_seed(0)
    model = Running()

    def loss() -> Any:
        length = order[next(steps) % len(order)]
        logits = model(letters[:, :length])
        return nn.functional.cross_entropy(
            logits.flatten(0, 1), following[:, :length].flatten()
        )

    return training(model, loss, lib.optim.SGD(model.parameters(), lr=1e-4), wrap)


workload = Workload(
    "lengths",
    "embedding, cumsum, linear; every step another length, SGD",
    {"batch": 16, "longest": 1024, "width": 64, "letters": 256},
    {"batch": 2, "longest": 24, "width": 8, "letters": 16},
    data,
    build,
    peers=("torch", "thunk"),
    wanted={"torch": 1.0},
)
