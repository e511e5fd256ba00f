"""A small GPT writes letter by letter: every step attends to keys and values kept from before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from workloads.workload import Sizes, Work, Workload, Wrap


def data(sizes: Sizes) -> dict[str, Any]:
    return {"start": numpy.zeros((1, 1), numpy.int64)}


def network(lib: Any, sizes: Sizes) -> Any:
    """A transformer whose forward takes one letter, its place, and the places seen so far."""
    nn, functional = lib.nn, lib.nn.functional
    width, heads, room = sizes["width"], sizes["heads"], sizes["room"]
    each = width // heads

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(width)
            self.to_qkv = nn.Linear(width, 3 * width)
            self.project = nn.Linear(width, width)
            self.norm2 = nn.LayerNorm(width)
            self.inner = nn.Linear(width, 4 * width)
            self.outer = nn.Linear(4 * width, width)
            self.register_buffer("keys", lib.zeros(1, heads, room, each))
            self.register_buffer("values", lib.zeros(1, heads, room, each))

        def forward(self, x: Any, place: Any, seen: Any) -> Any:
            qkv = self.to_qkv(self.norm1(x)).view(1, 1, 3, heads, each)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            self.keys.index_copy_(2, place, k)
            self.values.index_copy_(2, place, v)
            mixed = functional.scaled_dot_product_attention(q, self.keys, self.values, seen)
            x = x + self.project(mixed.transpose(1, 2).reshape(1, 1, width))
            return x + self.outer(functional.gelu(self.inner(self.norm2(x))))

    class Writer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.letter = nn.Embedding(sizes["letters"], width)
            self.place = nn.Embedding(room, width)
            self.blocks = nn.ModuleList([Block() for _ in range(sizes["layers"])])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, sizes["letters"])
            self.register_buffer("places", lib.arange(room))

        def forward(self, letter: Any, place: Any) -> tuple[Any, Any]:
            seen = (self.places <= place)[None, None, None]
            x = self.letter(letter) + self.place(place)
            for block in self.blocks:
                x = block(x, place, seen)
            logits = self.head(self.norm(x))
            return logits.argmax(-1), logits

    return Writer()


def build(lib: Any, sizes: Sizes, arrays: Mapping[str, Any], wrap: Wrap) -> Work:
    lib.manual_seed(0)
    model = network(lib, sizes).eval()
    forward, room = wrap(model), sizes["room"]
    now = [lib.tensor(arrays["start"]), lib.tensor([0])]

    def step() -> Any:
        with lib.no_grad():
            letter, place = now
            letter, logits = forward(letter, place)
            now[:] = [letter, (place + 1) % room]
            return logits

    return Work(step, model, lambda value: float(value[0, 0, 0]))


def in_jax(weights: Mapping[str, Any], sizes: Sizes, arrays: Mapping[str, Any]) -> Work:
    import jax
    import jax.numpy as jnp

    from workloads import jaxes

    heads, room = sizes["heads"], sizes["room"]
    each = sizes["width"] // heads
    everything = jaxes.weights_of(weights)
    caches = {name: everything.pop(name) for name in list(everything) if ".keys" in name}
    caches |= {name: everything.pop(name) for name in list(everything) if ".values" in name}

    def attend(p: Any, name: str, caches: Any, x: Any, place: Any, seen: Any) -> Any:
        qkv = jaxes.linear(p, f"{name}.to_qkv", jaxes.layer_norm(p, f"{name}.norm1", x))
        q, k, v = qkv.reshape(1, 1, 3, heads, each).transpose(2, 0, 3, 1, 4)
        for key, new in (("keys", k), ("values", v)):
            old = caches[f"{name}.{key}"]
            caches[f"{name}.{key}"] = jax.lax.dynamic_update_slice(old, new, (0, 0, place, 0))
        keys, values = caches[f"{name}.keys"], caches[f"{name}.values"]
        scores = jnp.einsum("bhqe,bhke->bhqk", q, keys) / each**0.5
        weight = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        mixed = jnp.einsum("bhqk,bhke->bqhe", weight, values)
        return x + jaxes.linear(p, f"{name}.project", mixed.reshape(x.shape))

    def run(p: Any, caches: Any, letter: Any, place: Any) -> Any:
        caches = dict(caches)
        seen = jnp.arange(room) <= place
        x = p["letter.weight"][letter] + p["place.weight"][place]
        for number in range(sizes["layers"]):
            name = f"blocks.{number}"
            x = attend(p, name, caches, x, place, seen)
            inner = jaxes.linear(p, f"{name}.inner", jaxes.layer_norm(p, f"{name}.norm2", x))
            x = x + jaxes.linear(p, f"{name}.outer", jax.nn.gelu(inner, approximate=False))
        logits = jaxes.linear(p, "head", jaxes.layer_norm(p, "norm", x))
        return logits, caches, logits.argmax(-1), (place + 1) % room

    compiled = jax.jit(run, donate_argnums=(1,))
    now = [caches, jnp.array(arrays["start"]), jnp.int32(0)]

    def step() -> Any:
        logits, *now[:] = compiled(everything, *now)
        return logits

    return Work(step, None, lambda value: float(value[0, 0, 0]))


workload = Workload(
    "decode",
    "decode: GPT, 6 layers, D384 H6, KV cache of 256, batch 1",
    {"width": 384, "heads": 6, "layers": 6, "letters": 256, "room": 256},
    {"width": 32, "heads": 2, "layers": 2, "letters": 32, "room": 16},
    data,
    build,
    in_jax,
    read_every=1,
    wanted={"torch": 1.5, "compile": 1.5, "jax": 1.2},
)
