"""Twenty elementwise operations on a large tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from workloads.workload import Sizes, Work, Workload, Wrap, tensors


def data(sizes: Sizes) -> dict[str, Any]:
    return {"x": numpy.random.default_rng(0).standard_normal(sizes["elements"], numpy.float32)}


def chained(lib: Any, relu: Any, x: Any) -> Any:
    """Six operations three times, and two more."""
    for _ in range(3):
        x = lib.tanh(x)
        x = lib.exp(x)
        x = lib.abs(x)
        x = x * 0.7
        x = x + -0.9
        x = relu(x)
    return lib.tanh(x) * 2.0


def build(lib: Any, sizes: Sizes, arrays: Mapping[str, Any], wrap: Wrap) -> Work:
    x = tensors(lib, arrays)["x"]
    run = wrap(lambda x: chained(lib, lib.relu, x))
    return Work(lambda: run(x), None, lambda value: float(value[0]))


def in_jax(weights: Mapping[str, Any], sizes: Sizes, arrays: Mapping[str, Any]) -> Work:
    import jax
    import jax.numpy as jnp

    from workloads import jaxes

    x = jaxes.weights_of(arrays)["x"]
    run = jax.jit(lambda x: chained(jnp, jax.nn.relu, x))
    return Work(lambda: run(x), None, lambda value: float(value[0]))


workload = Workload(
    "chain",
    "elementwise chain of 20 ops, 4M elements",
    {"elements": 4 << 20},
    {"elements": 1 << 12},
    data,
    build,
    in_jax,
    read_every=1,
    wanted={"torch": 10, "compile": 4, "jax": 4},
)
