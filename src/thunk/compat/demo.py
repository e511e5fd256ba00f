"""Enters: how long to train. Leaves: a network that reads digits, and an account of the training.

Invariant: the model is the tutorial's and the digits come with the package; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import thunk
import thunk.nn.functional as F
from thunk import nn, optim
from thunk.base.config import config
from thunk.compat.plot import svg
from thunk.compat.report import Clocks, clocks, report
from thunk.lazy import mark_step, metrics
from thunk.optim.lr_scheduler import StepLR
from thunk.utils.data import DataLoader, Subset
from thunk.vision import datasets, transforms

_TEST_BATCH = 500


class Net(nn.Module):
    """Two convolutions, dropout, two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        """The logarithms of the ten digits' probabilities."""
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = thunk.flatten(self.dropout1(x), 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


@dataclass
class History:
    """What was seen of a training."""

    began: Clocks = field(default_factory=clocks)
    steps: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    seen: int = 0
    last: tuple[float, int] = (0.0, 0)
    accuracy: float = 0.0

    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self.began.wall

    def note(self, step: int, loss: float) -> None:
        """One look at the loss; the speed is that since the look before."""
        now, (before, seen) = self.elapsed(), self.last
        self.steps.append(step)
        self.losses.append(loss)
        self.speeds.append((self.seen - seen) / max(now - before, 1e-9))
        self.last = (now, self.seen)


class Display:
    """One line that changes where a person looks on; one line an epoch elsewhere."""

    def __init__(self) -> None:
        self.live = sys.stdout.isatty()

    def show(self, text: str, ends: bool = False) -> None:
        """Show a line; one that ends something stays."""
        if self.live:
            print(f"\r\x1b[K{text}", end="\n" if ends else "", flush=True)
        elif ends:
            print(text, flush=True)


def arguments_of(parser: argparse.ArgumentParser) -> None:
    """What `python -m thunk demo` takes."""
    parser.add_argument("--epochs", type=int, default=3, help="how often to see every digit")
    parser.add_argument("--seconds", type=float, default=60.0, help="stop training after so long")
    parser.add_argument("--batch-size", type=int, default=64, help="digits of one step")
    parser.add_argument("--samples", type=int, default=0, help="train with so many digits only")
    parser.add_argument("--plot", default="demo.svg", help="where to draw loss and speed")
    parser.add_argument("--seed", type=int, default=1, help="of weights, order and dropout")


def run(options: argparse.Namespace) -> float:
    """Train, test, draw, and tell what happened; returns the share of test digits read right."""
    with config.override(lazy=not config.eager):
        return _trained(options)


def _trained(options: argparse.Namespace) -> float:
    thunk.manual_seed(options.seed)
    training, test = _digits(options)
    model = Net()
    mark_step(wait=True)
    metrics.reset()  # the account is of the training: weights are drawn as PyTorch draws them
    history, display = History(), Display()
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, options.epochs + 1):
        _train(model, training, optimizer, history, display, f"epoch {epoch}", options.seconds)
        history.accuracy = _accuracy(model, test)
        display.show(
            f"epoch {epoch}: {history.accuracy:.2%} of unseen digits right after "
            f"{history.elapsed():.1f} s",
            ends=True,
        )
        scheduler.step()
        if history.elapsed() > options.seconds:
            break
    _account(history, Path(options.plot))
    return history.accuracy


def _digits(options: argparse.Namespace) -> tuple[Any, Any]:
    steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    training: Any = datasets.bundled_digits(True, steps)
    test: Any = datasets.bundled_digits(False, steps)
    if options.samples:
        training = Subset(training, range(options.samples))
        test = Subset(test, range(options.samples))
    return DataLoader(training, options.batch_size, shuffle=True), DataLoader(test, _TEST_BATCH)


def _train(
    model: Net, loader: Any, optimizer: Any, history: History, display: Display, name: str,
    seconds: float,
) -> None:  # fmt: skip
    model.train()
    count, every = len(loader), max(len(loader) // 20, 1)
    for step, (images, labels) in enumerate(loader, 1):
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        mark_step()
        history.seen += len(images)
        if step % every == 0 or step == count:
            history.note(len(history.steps) * every, loss.item())
            done = "#" * (20 * step // count)
            display.show(
                f"{name} [{done:20}] {step}/{count}  loss {history.losses[-1]:.4f}  "
                f"{history.speeds[-1]:,.0f} digits/s"
            )
        if history.elapsed() > seconds:
            return


def _accuracy(model: Net, loader: Any) -> float:
    model.eval()
    right = count = 0
    with thunk.no_grad():
        for images, labels in loader:
            right += int((model(images).argmax(1) == labels).sum().item())
            count += len(labels)
    return right / count


def _account(history: History, path: Path) -> None:
    title = f"digits: {history.accuracy:.2%} right, {history.seen:,} seen"
    curves = [
        ("loss, by step", history.steps, history.losses),
        ("digits a second, by step", history.steps, history.speeds),
    ]
    path.write_text(svg(title, curves), encoding="utf-8")
    print(f"{history.accuracy:.2%} of unseen digits right; loss and speed are drawn in {path}")
    print(report(history.began))
