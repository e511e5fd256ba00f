"""ResNet-18, as it is known: training in batches, and one picture at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from workloads.workload import Sizes, Work, Workload, Wrap, tensors
from workloads.workload import training as training_step

LAYERS = ((64, 1), (128, 2), (256, 2), (512, 2))
CLASSES = 1000


def data(sizes: Sizes) -> dict[str, Any]:
    generator = numpy.random.default_rng(0)
    batch, size = sizes["batch"], sizes["size"]
    return {
        "images": generator.standard_normal((batch, 3, size, size), numpy.float32),
        "labels": generator.integers(0, CLASSES, batch),
    }


def network(lib: Any) -> Any:
    """The model in training mode."""
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self, before: int, width: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.downsample = None
            if stride != 1 or before != width:
                self.downsample = nn.Sequential(
                    nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width)
                )

        def forward(self, x: Any) -> Any:
            y = functional.relu(self.bn1(self.conv1(x)))
            y = self.bn2(self.conv2(y))
            return functional.relu(y + (x if self.downsample is None else self.downsample(x)))

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(64)
            blocks, before = [], 64
            for width, stride in LAYERS:
                blocks += [Block(before, width, stride), Block(width, width, 1)]
                before = width
            self.blocks = nn.Sequential(*blocks)
            self.fc = nn.Linear(512, CLASSES)

        def forward(self, x: Any) -> Any:
            x = functional.relu(self.bn1(self.conv1(x)))
            x = self.blocks(functional.max_pool2d(x, 3, 2, 1))
            return self.fc(functional.adaptive_avg_pool2d(x, 1).flatten(1))

    return ResNet()


def build(lib: Any, sizes: Sizes, arrays: Mapping[str, Any], wrap: Wrap) -> Work:
    given = tensors(lib, arrays)
    images, labels = given["images"], given["labels"]
    lib.manual_seed(0)
    model = network(lib)

    def loss() -> Any:
        return lib.nn.functional.cross_entropy(model(images), labels)

    optimizer = lib.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return training_step(model, loss, optimizer, wrap)


def build_inference(lib: Any, sizes: Sizes, arrays: Mapping[str, Any], wrap: Wrap) -> Work:
    images = tensors(lib, arrays)["images"]
    lib.manual_seed(0)
    model = network(lib).eval()
    forward = wrap(model)

    def step() -> Any:
        with lib.no_grad():
            return forward(images)

    return Work(step, model, lambda value: float(value[0, 0]))


def forward_in_jax(p: Any, x: Any, learning: bool) -> tuple[Any, dict[str, Any]]:
    """The logits, and the new running statistics."""
    import jax
    import jax.numpy as jnp

    from workloads import jaxes

    changed: dict[str, Any] = {}

    def norm(name: str, x: Any) -> Any:
        mean, variance = p[f"{name}.running_mean"], p[f"{name}.running_var"]
        if learning:
            count = x.size // x.shape[1]
            changed[f"{name}.running_mean"], changed[f"{name}.running_var"] = mean, variance
            mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
            for key, new in (("mean", mean), ("var", variance * count / (count - 1))):
                old = changed[f"{name}.running_{key}"]
                changed[f"{name}.running_{key}"] = 0.9 * old + 0.1 * new
        scale = p[f"{name}.weight"] * jax.lax.rsqrt(variance + 1e-5)
        shift = p[f"{name}.bias"] - mean * scale
        return x * scale[:, None, None] + shift[:, None, None]

    def conv(name: str, x: Any, stride: int, padding: int) -> Any:
        return jaxes.convolution(p[f"{name}.weight"], x, stride, padding)

    x = jax.nn.relu(norm("bn1", conv("conv1", x, 2, 3)))
    x = jaxes.max_pool(x, 3, 2, 1)
    for number in range(2 * len(LAYERS)):
        name = f"blocks.{number}"
        stride = LAYERS[number // 2][1] if number % 2 == 0 else 1
        y = jax.nn.relu(norm(f"{name}.bn1", conv(f"{name}.conv1", x, stride, 1)))
        y = norm(f"{name}.bn2", conv(f"{name}.conv2", y, 1, 1))
        if f"{name}.downsample.0.weight" in p:
            x = norm(f"{name}.downsample.1", conv(f"{name}.downsample.0", x, stride, 0))
        x = jax.nn.relu(x + y)
    return jaxes.linear(p, "fc", jnp.mean(x, (2, 3))), changed


def in_jax(weights: Mapping[str, Any], sizes: Sizes, arrays: Mapping[str, Any]) -> Work:
    from workloads import jaxes

    given = jaxes.weights_of(arrays)

    def loss(p: Any, key: Any) -> Any:
        logits, changed = forward_in_jax(p, given["images"], True)
        return jaxes.cross_entropy(logits, given["labels"]), changed

    kept = {name: value for name, value in weights.items() if "num_batches" not in name}
    return jaxes.training(
        jaxes.weights_of(kept), loss, jaxes.momentum(0.01, 0.9), lambda name: "running" not in name
    )


def inference_in_jax(weights: Mapping[str, Any], sizes: Sizes, arrays: Mapping[str, Any]) -> Work:
    import jax

    from workloads import jaxes

    images = jaxes.weights_of(arrays)["images"]
    p = jaxes.weights_of(weights)
    forward = jax.jit(lambda p, x: forward_in_jax(p, x, False)[0])
    return Work(lambda: forward(p, images), None, lambda value: float(value[0, 0]))


training = Workload(
    "resnet",
    "ResNet-18, batch 16, 64x64, SGD momentum",
    {"batch": 16, "size": 64},
    {"batch": 2, "size": 64},
    data,
    build,
    in_jax,
    wanted={"torch": 1.3, "compile": 1.2, "jax": 2},
)
inference = Workload(
    "resnet-inference",
    "inference: ResNet-18, batch 1, 224x224",
    {"batch": 1, "size": 224},
    {"batch": 1, "size": 64},
    data,
    build_inference,
    inference_in_jax,
    read_every=1,
    wanted={"torch": 1.5, "compile": 1.5, "jax": 1.2},
)
