"""Training reaches a state in which nothing is recorded, compiled or kept any more."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import thunk
from thunk import lazy
from thunk.lazy import metrics
from thunk.lazy.eager import execution
from thunk.lazy.run import inflight
from thunk.lazy.trace import traces

MISSES = ("TraceMiss", "UncachedCompile", "IrNodeCreated", "BackwardRecorded", "UpdateRecorded")


@pytest.fixture(autouse=True)
def lazily() -> Iterator[None]:
    with execution(True):
        traces.current.materialise()
        metrics.reset()
        yield
        traces.current.materialise()
    inflight.wait()


def training(make: Callable[..., Any], **options: Any) -> Callable[[int, float], Any]:
    net = thunk.nn.Sequential(
        thunk.nn.Linear(12, 16), thunk.nn.ReLU(), thunk.nn.Dropout(0.25), thunk.nn.Linear(16, 3)
    )
    optimizer = make(net.parameters(), **options)
    x, y = thunk.randn(8, 12), thunk.randint(0, 3, (8,))
    lazy.mark_step(wait=True)  # what makes the parameters is a program of its own

    def step(rows: int, rate: float) -> Any:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = thunk.nn.functional.cross_entropy(net(x[:rows]), y[:rows])
        loss.backward()
        optimizer.step()
        return loss

    return step


OPTIMIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SGD": (thunk.optim.SGD, {}),
    "Momentum": (thunk.optim.SGD, {"momentum": 0.9}),
    "Adam": (thunk.optim.Adam, {}),
    "AdamW": (thunk.optim.AdamW, {}),
    "Adadelta": (thunk.optim.Adadelta, {}),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_compile_and_then_none(name: str) -> None:
    make, options = OPTIMIZERS[name]
    step = training(make, **options)
    metrics.reset()
    for index in range(4):
        step(8, 0.01 / (index + 1))
    assert metrics.counter_value("UncachedCompile") == 1
    metrics.reset()
    with lazy.forbid_compile():
        for index in range(1000):
            loss = step(8, 0.01 / (index + 2))
    assert {each: metrics.counter_value(each) for each in MISSES} == dict.fromkeys(MISSES, 0)
    assert metrics.counter_value("CachedCompile") == 1000
    assert loss.item() > 0


def test_statistics_that_a_call_writes_are_remembered_with_it() -> None:
    """Batch normalisation writes without gradients; whether they are taken is as before it."""
    thunk.manual_seed(0)
    lazily, eagerly = (
        thunk.nn.Sequential(thunk.nn.Linear(3, 4), thunk.nn.BatchNorm1d(4), thunk.nn.Linear(4, 1))
        for _ in range(2)
    )
    eagerly.load_state_dict(lazily.state_dict())
    x = thunk.randn(6, 3)

    def run(net: Any, training: bool) -> Any:
        net.train(training)
        loss = net(x).square().mean()
        net.zero_grad()
        loss.backward()
        with thunk.no_grad():
            for each in net.parameters():
                each.sub_(each.grad * 0.1)
        return loss.detach()

    for index in range(24):
        training = index % 4 != 3
        if index == 12:
            metrics.reset()
        found = run(lazily, training)
        with execution(False):
            wanted = run(eagerly, training)
            assert thunk.allclose(found, wanted, rtol=1e-4, atol=1e-6)
    assert {each: metrics.counter_value(each) for each in MISSES} == dict.fromkeys(MISSES, 0)
    with execution(False):
        for name, value in eagerly.state_dict().items():
            assert thunk.allclose(lazily.state_dict()[name], value, rtol=1e-4, atol=1e-6), name


def test_a_partial_batch_adds_one_compile() -> None:
    step = training(thunk.optim.Adam)
    for _ in range(4):
        step(8, 0.01)
    metrics.reset()
    for rows in (5, 8, 5, 8, 5):
        step(rows, 0.01)
    assert metrics.counter_value("UncachedCompile") == 1


def test_reading_the_loss_now_and_then_adds_nothing() -> None:
    step = training(thunk.optim.Adam)
    losses = [step(8, 0.01) for _ in range(4)]
    metrics.reset()
    for index in range(40):
        losses.append(step(8, 0.01))
        if index % 10 == 9:
            assert losses[-1].item() > 0
    assert metrics.counter_value("UncachedCompile") == 0
    assert metrics.counter_value("Executions") == 40


def test_memory_is_flat() -> None:
    step = training(thunk.optim.Adam)
    for _ in range(50):
        step(8, 0.01)
    lazy.wait_device_ops()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20):
            step(8, 0.01)
        lazy.wait_device_ops()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            step(8, 0.01)
        lazy.wait_device_ops()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 50_000


class Digits(thunk.nn.Module):
    """The network of PyTorch's example, smaller."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = thunk.nn.Conv2d(1, 4, 3)
        self.dropout = thunk.nn.Dropout(0.25)
        self.linear = thunk.nn.Linear(4 * 3 * 3, 10)

    def forward(self, x: Any) -> Any:
        x = thunk.nn.functional.relu(self.convolution(x))
        x = self.dropout(thunk.nn.functional.max_pool2d(x, 2))
        return thunk.nn.functional.log_softmax(self.linear(thunk.flatten(x, 1)), dim=1)


def test_the_usual_script_compiles_four_programs() -> None:
    def loader(count: int, batch: int) -> Any:
        data = thunk.utils.data.TensorDataset(
            thunk.randn(count, 1, 8, 8), thunk.randint(0, 10, (count,))
        )
        return thunk.utils.data.DataLoader(data, batch_size=batch, shuffle=True)

    train, test = loader(60, 8), loader(40, 20)
    model = Digits()
    optimizer = thunk.optim.Adadelta(model.parameters(), lr=1.0)
    lazy.mark_step(wait=True)
    with lazy.explain() as account:
        for _ in range(2):
            model.train()
            for index, (data, target) in enumerate(train):
                optimizer.zero_grad()
                loss = thunk.nn.functional.nll_loss(model(data), target)
                loss.backward()
                optimizer.step()
                if index % 4 == 0:
                    assert loss.item() > 0
            model.eval()
            with thunk.no_grad():
                for data, target in test:
                    output = model(data)
                    thunk.nn.functional.nll_loss(output, target, reduction="sum").item()
                    guess = output.argmax(dim=1, keepdim=True)
                    guess.eq(target.view_as(guess)).sum().item()
    assert len(account.compiles) <= 4, str(account)
    assert len(account.executions) == 2 * (8 + 2 * 2)
