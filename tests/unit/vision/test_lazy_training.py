"""Augmentation beside a lazy program: nothing of it is recorded, so later epochs add nothing.

The size of the trie is the measure: a training step seen before follows edges that exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import thunk
import thunk.nn.functional as F
from thunk import nn, optim
from thunk.lazy import ir_cache, metrics
from thunk.lazy.eager import execution
from thunk.lazy.trace import traces
from thunk.utils.data import DataLoader, Dataset
from thunk.vision import transforms as T

PIXELS = numpy.random.default_rng(0).integers(0, 256, (22, 12, 12, 3), dtype=numpy.uint8)


class Photos(Dataset[Any]):
    """Pictures with the augmentation that CIFAR is trained with."""

    transform = T.Compose([
        T.RandomCrop(12, padding=2),
        T.RandomHorizontalFlip(),
        T.ToTensor(),
        T.Normalize((0.5, 0.5, 0.5), (0.2, 0.2, 0.2)),
        T.RandomErasing(0.5),
    ])  # fmt: skip

    def __len__(self) -> int:
        return len(PIXELS)

    def __getitem__(self, index: int) -> Any:
        image = self.transform(PIXELS[index])
        # Arithmetic of the dataset's own is as eager as the transforms.
        return image * (1 + 0.1 * thunk.rand(1)), index % 3


@pytest.fixture
def lazily() -> Iterator[None]:
    with execution(lazy=True):
        yield


@pytest.mark.parametrize("workers", [0, 2])
def test_the_second_epoch_records_nothing_new(workers: int, lazily: None) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 12 * 12, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    # Two whole batches and a shorter one an epoch.
    loader = DataLoader(Photos(), batch_size=8, shuffle=True, num_workers=workers)
    sizes = []
    for _ in range(4):
        for images, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            optimizer.step()
            traces.current.materialise()
        sizes.append(ir_cache.size())
    # The first epoch meets the first step, which makes momentum's buffers, and the last batch.
    assert sizes[1] == sizes[2] == sizes[3] > 20


@pytest.mark.parametrize("workers", [0, 2])
def test_the_second_epoch_of_a_convolutional_network_misses_nothing(
    workers: int, lazily: None
) -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.1), nn.Linear(100, 3),
    )  # fmt: skip
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Photos(), batch_size=8, shuffle=True, num_workers=workers)
    found = []
    for _ in range(4):
        metrics.reset()
        for images, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            optimizer.step()
        found.append([metrics.counter_value(each) for each in ("TraceMiss", "UncachedCompile")])
    assert found[1:] == [[0, 0]] * 3


def test_loading_leaves_the_trace_where_it_was(lazily: None) -> None:
    pending = thunk.ones(3) * 2
    node = traces.current.end
    batches = list(DataLoader(Photos(), batch_size=8, shuffle=True))
    assert traces.current.end is node
    assert pending._node is not None
    assert len(batches) == 3
    assert pending.tolist() == [2, 2, 2]
