"""Layers and optimizers as plain functions of jax, with PyTorch's formulas.

Enters: weights by PyTorch's names. Leaves: `Work` whose step is one call of a compiled function.
Invariant: weights and optimizer state are donated, so that jax updates them in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from workloads.workload import Work

Weights = dict[str, Any]
Update = Callable[[Any, Any, Any, Any], tuple[Any, Any]]


def weights_of(arrays: Mapping[str, Any]) -> Weights:
    """Copies of the arrays, owned by jax."""
    return {name: jnp.array(array) for name, array in arrays.items()}


def linear(p: Weights, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def layer_norm(p: Weights, name: str, x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def convolution(weight: Any, x: Any, stride: int = 1, padding: int = 0) -> Any:
    around = [(padding, padding)] * 2
    names = ("NCHW", "OIHW", "NCHW")
    return lax.conv_general_dilated(x, weight, (stride, stride), around, dimension_numbers=names)


def max_pool(x: Any, size: int, stride: int, padding: int = 0) -> Any:
    around = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    window, steps = (1, 1, size, size), (1, 1, stride, stride)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, steps, around)


def cross_entropy(logits: Any, labels: Any) -> Any:
    logs = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.take_along_axis(logs, labels[..., None], axis=-1).mean()


def momentum(rate: float, factor: float) -> tuple[tuple[str, ...], Update]:
    def update(weight: Any, grad: Any, state: Any, count: Any) -> tuple[Any, Any]:
        buffer = jnp.where(count == 1, grad, factor * state["buffer"] + grad)
        return weight - rate * buffer, {"buffer": buffer}

    return ("buffer",), update


def adam(rate: float, decay: float = 0.0) -> tuple[tuple[str, ...], Update]:
    """Adam, or AdamW with its decay."""

    def update(weight: Any, grad: Any, state: Any, count: Any) -> tuple[Any, Any]:
        mean = 0.9 * state["mean"] + 0.1 * grad
        square = 0.999 * state["square"] + 0.001 * grad * grad
        scale = jnp.sqrt(square) / jnp.sqrt(1 - 0.999**count) + 1e-8
        weight = weight * (1 - rate * decay) - rate / (1 - 0.9**count) * mean / scale
        return weight, {"mean": mean, "square": square}

    return ("mean", "square"), update


def adadelta(rate: float) -> tuple[tuple[str, ...], Update]:
    def update(weight: Any, grad: Any, state: Any, count: Any) -> tuple[Any, Any]:
        square = 0.9 * state["square"] + 0.1 * grad * grad
        delta = jnp.sqrt(state["delta"] + 1e-6) / jnp.sqrt(square + 1e-6) * grad
        return weight - rate * delta, {
            "square": square, "delta": 0.9 * state["delta"] + 0.1 * delta * delta,
        }  # fmt: skip

    return ("square", "delta"), update


def training(
    weights: Weights,
    loss: Callable[[Weights, Any], tuple[Any, Weights]],
    optimizer: tuple[tuple[str, ...], Update],
    learned: Callable[[str], bool] = lambda name: True,
) -> Work:
    """`loss(weights, key)` leaves the loss and the new values of weights that are not learned."""
    names, rule = optimizer
    trained = {name: value for name, value in weights.items() if learned(name)}
    others = {name: value for name, value in weights.items() if not learned(name)}
    state = {
        name: {each: jnp.zeros_like(value) for each in names} for name, value in trained.items()
    }

    def run(trained: Any, others: Any, state: Any, count: Any) -> Any:
        key = jax.random.key(count.astype(int))

        def whole(trained: Any) -> Any:
            return loss({**others, **trained}, key)

        (value, changed), grads = jax.value_and_grad(whole, has_aux=True)(trained)
        done = {
            name: rule(weight, grads[name], state[name], count) for name, weight in trained.items()
        }
        fresh = {name: pair[0] for name, pair in done.items()}
        kept = {name: pair[1] for name, pair in done.items()}
        return value, fresh, {**others, **changed}, kept, count + 1

    compiled = jax.jit(run, donate_argnums=(0, 1, 2, 3))
    now = [trained, others, state, jnp.float32(1)]

    def step() -> Any:
        value, *now[:] = compiled(*now)
        return value

    return Work(step)
