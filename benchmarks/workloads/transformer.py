"""A transformer that learns which letter follows, trained with AdamW."""

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


def network(lib: Any, sizes: Sizes) -> Any:
    """The model of these sizes."""
    nn, functional = lib.nn, lib.nn.functional
    width, heads = sizes["width"], sizes["heads"]

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(width)
            self.to_qkv = nn.Linear(width, 3 * width)
            self.project = nn.Linear(width, width)
            self.norm2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            qkv = self.to_qkv(self.norm1(x)).view(batch, length, 3, heads, width // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(seen.transpose(1, 2).reshape(batch, length, width))
            return x + self.mlp(self.norm2(x))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.letter = nn.Embedding(sizes["letters"], width)
            self.place = nn.Embedding(sizes["length"], width)
            self.blocks = nn.Sequential(*(Block() for _ in range(sizes["layers"])))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, sizes["letters"])

        def forward(self, letters: Any) -> Any:
            x = self.letter(letters) + self.place(lib.arange(letters.size(1)))
            return self.head(self.norm(self.blocks(x)))

    return Transformer()


def build(lib: Any, sizes: Sizes, arrays: Mapping[str, Any], wrap: Wrap) -> Work:
    given = tensors(lib, arrays)
    letters, following = given["letters"], given["following"]
    lib.manual_seed(0)
    model = network(lib, sizes)

    def loss() -> Any:
        logits = model(letters)
        return lib.nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten())

    optimizer = lib.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01)
    return training(model, loss, optimizer, wrap)


def in_jax(weights: Mapping[str, Any], sizes: Sizes, arrays: Mapping[str, Any]) -> Work:
    import jax
    import jax.numpy as jnp

    from workloads import jaxes

    given = jaxes.weights_of(arrays)
    heads, each = sizes["heads"], sizes["width"] // sizes["heads"]
    length = sizes["length"]
    seen = jnp.tril(jnp.ones((length, length), bool))

    def block(p: Any, name: str, x: Any) -> Any:
        qkv = jaxes.linear(p, f"{name}.to_qkv", jaxes.layer_norm(p, f"{name}.norm1", x))
        q, k, v = qkv.reshape(*x.shape[:2], 3, heads, each).transpose(2, 0, 3, 1, 4)
        scores = jnp.einsum("bhqe,bhke->bhqk", q, k) / each**0.5
        weight = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        mixed = jnp.einsum("bhqk,bhke->bqhe", weight, v).reshape(x.shape)
        x = x + jaxes.linear(p, f"{name}.project", mixed)
        inner = jaxes.linear(p, f"{name}.mlp.0", jaxes.layer_norm(p, f"{name}.norm2", x))
        return x + jaxes.linear(p, f"{name}.mlp.2", jax.nn.gelu(inner, approximate=False))

    def loss(p: Any, key: Any) -> Any:
        x = p["letter.weight"][given["letters"]] + p["place.weight"]
        for number in range(sizes["layers"]):
            x = block(p, f"blocks.{number}", x)
        logits = jaxes.linear(p, "head", jaxes.layer_norm(p, "norm", x))
        return jaxes.cross_entropy(logits, given["following"]), {}

    return jaxes.training(jaxes.weights_of(weights), loss, jaxes.adam(3e-4, 0.01))


workload = Workload(
    "transformer",
    "transformer, 4 layers, D256 H4 S128 B8, AdamW",
    {"batch": 8, "length": 128, "width": 256, "heads": 4, "layers": 4, "letters": 96},
    {"batch": 2, "length": 16, "width": 32, "heads": 2, "layers": 2, "letters": 96},
    data,
    build,
    in_jax,
    wanted={"torch": 2.0, "compile": 1.8, "jax": 1.8},
)
