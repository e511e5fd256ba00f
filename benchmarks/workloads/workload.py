"""What a workload is, and the training step that most of them share.

Enters: a library with PyTorch's names, sizes and data. Leaves: `Work`, whose `step` may be called
again and again. Invariant: a step leaves a value that only a computed step can have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Sizes = Mapping[str, Any]
Wrap = Callable[[Any], Any]


@dataclass
class Work:
    """A workload in one library: `step` runs once and leaves a tensor; `read` takes its value."""

    step: Callable[[], Any]
    model: Any = None
    read: Callable[[Any], float] = float


@dataclass(frozen=True)
class Workload:
    """A workload for every peer.

    `build(lib, sizes, data, wrap)` makes it for a library with PyTorch's names; `wrap` compiles a
    function where the library can. `jax(weights, sizes, data)` makes the same for jax.
    `exact` changes sizes so that nothing is left to chance, for the comparison of values.
    """

    name: str
    title: str
    sizes: Sizes
    quick: Sizes
    data: Callable[[Sizes], dict[str, Any]]
    build: Callable[[Any, Sizes, Mapping[str, Any], Wrap], Work]
    jax: Callable[[Mapping[str, Any], Sizes, Mapping[str, Any]], Work] | None = None
    exact: Sizes = field(default_factory=dict)
    read_every: int = 10
    peers: tuple[str, ...] = ("torch", "compile", "jax", "thunk")
    wanted: Mapping[str, float] = field(default_factory=dict)


def as_is(function: Any) -> Any:
    """For libraries that have nothing to compile."""
    return function


def tensors(lib: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of the arrays, owned by the library."""
    return {name: lib.tensor(array) for name, array in data.items()}


def training(
    model: Any, loss: Callable[[], Any], optimizer: Any, wrap: Wrap
) -> Work:
    """Gradients to None, forward, backward, update."""
    loss, update = wrap(loss), wrap(optimizer.step)

    def step() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        update()
        return value.detach()

    return Work(step, model)
