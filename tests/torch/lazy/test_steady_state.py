"""Training settles: a few compiles at the start, then none, whatever numbers change."""

from __future__ import annotations

from typing import Any

import pytest
from tests.torch.lazy.costs import batches, counted, lazily, perceptron, train

import thunk
from thunk import nn, optim

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
    "adadelta": lambda p: optim.Adadelta(p, lr=1.0),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_settles_within_two_compiles(name: str) -> None:
    """A new learning rate and new dropout each step change nothing of the program."""
    model = perceptron(dropout=0.5)
    optimizer = OPTIMIZERS[name](model.parameters())
    pairs = batches(16)
    with lazily(), counted() as start:
        train(model, optimizer, pairs[:6])
    assert start.compiles <= 2
    with lazily(), counted() as rest:
        for step in range(1000):
            for group in optimizer.param_groups:
                group["lr"] = 0.1 / (step + 1)
            train(model, optimizer, [pairs[step % 16]])
    assert (rest.new, rest.misses) == (0, 0)
    assert rest.runs == 1000


def test_a_last_partial_batch_adds_one_compile() -> None:
    model = perceptron()
    optimizer = optim.Adam(model.parameters())
    with lazily():
        train(model, optimizer, batches(6))
        with counted() as partial:
            train(model, optimizer, batches(1, size=3))
        assert partial.new == 1
        with counted() as again:
            for _ in range(3):
                train(model, optimizer, batches(6) + batches(1, size=3))
    assert again.new == 0


class Net(nn.Module):
    """The network of the MNIST tutorial, small."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.conv2 = nn.Conv2d(4, 4, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(4 * 4 * 4, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        x = nn.functional.relu(self.conv1(x))
        x = nn.functional.relu(self.conv2(x))
        x = self.dropout1(nn.functional.max_pool2d(x, 2))
        x = nn.functional.relu(self.fc1(thunk.flatten(x, 1)))
        return nn.functional.log_softmax(self.fc2(self.dropout2(x)), dim=1)


def test_the_digits_script_compiles_four_times_at_most() -> None:
    """No barrier in it, the loss read every ten batches, an evaluation after each epoch."""
    images = thunk.rand(64 * 22, 1, 12, 12)
    digits = thunk.randint(0, 10, (64 * 22,))
    data = thunk.utils.data.TensorDataset(images, digits)
    loader = thunk.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    tests = thunk.utils.data.DataLoader(data, batch_size=128)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    seen = []
    with lazily(), counted() as costs:
        for _ in range(2):
            model.train()
            for step, (inputs, target) in enumerate(loader):
                optimizer.zero_grad()
                loss = nn.functional.nll_loss(model(inputs), target)
                loss.backward()
                optimizer.step()
                if step % 10 == 0:
                    seen.append(loss.item())
            model.eval()
            correct, total = 0, 0.0
            with thunk.no_grad():
                for inputs, target in tests:
                    output = model(inputs)
                    total += nn.functional.nll_loss(output, target, reduction="sum").item()
                    guess = output.argmax(dim=1, keepdim=True)
                    correct += guess.eq(target.view_as(guess)).sum().item()
            scheduler.step()
    assert len(seen) == 6 and 0 <= correct <= len(data) and total > 0
    assert costs.compiles <= 4


def test_a_whole_step_with_clipping_is_one_program() -> None:
    model = perceptron()
    optimizer = optim.AdamW(model.parameters())

    def step(inputs: Any, classes: Any) -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), classes)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()

    with lazily():
        for pair in batches(5):
            step(*pair)
        with counted() as costs:
            for pair in batches(10):
                step(*pair)
    assert (costs.new, costs.runs) == (0, 10)


def test_numbers_are_inputs_of_the_program() -> None:
    """A thousand different factors, one program; each gives its own result."""
    x = thunk.tensor([1.0, 2.0])
    results = []
    with lazily():
        for factor in (0.5, 0.25, 0.75):
            results.append((x * factor + factor / 3).tolist())
        with counted() as costs:
            for step in range(1000):
                factor = step / 1000 + 0.001
                got = (x * factor + factor / 3).tolist()
                assert got == pytest.approx([factor * 4 / 3, factor * 7 / 3], rel=1e-6)
    assert costs.new == 0


def test_reading_many_results_runs_once() -> None:
    x = thunk.arange(6.0).reshape(2, 3)
    with lazily(), counted() as costs:
        outputs = [(x * (k + 1)).sum() for k in range(8)]
        first = [each.item() for each in outputs]
    assert first == [15.0 * (k + 1) for k in range(8)]
    assert costs.runs == 1


def test_preparing_a_batch_does_not_change_the_program_of_the_step() -> None:
    model = perceptron()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    with lazily():
        train(model, optimizer, batches(5))
        with counted() as costs:
            for kind in range(3):
                for inputs, classes in batches(2):
                    for _ in range(kind):
                        inputs = inputs * 1.5 - 0.25
                    inputs.tolist()
                    train(model, optimizer, [(inputs, classes)])
    assert costs.new <= 3  # the preparations, at most one program each, and not the step
