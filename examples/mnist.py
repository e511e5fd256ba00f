"""Handwritten digits with a small convolutional network.

Uses the 10,000 digits that come with the package, so nothing is downloaded: 8,000 to train with,
2,000 to test with. With --root and --download, the whole of MNIST.
"""

import argparse
import time

import thunk
import thunk.nn.functional as F
from thunk import nn, optim
from thunk.optim.lr_scheduler import StepLR
from thunk.utils.data import DataLoader, Subset
from thunk.vision import datasets, transforms


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

    def forward(self, x: thunk.Tensor) -> thunk.Tensor:
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.dropout1(F.max_pool2d(x, 2))
        x = F.relu(self.fc1(thunk.flatten(x, 1)))
        return F.log_softmax(self.fc2(self.dropout2(x)), dim=1)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=25)
    parser.add_argument("--samples", type=int, help="train with this many digits only")
    parser.add_argument("--root", help="folder of the whole MNIST, in torchvision's layout")
    parser.add_argument("--download", action="store_true", help="fetch it into --root first")
    return parser.parse_args(arguments)


def digits(options: argparse.Namespace) -> tuple[DataLoader, DataLoader]:
    steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    if options.root is None:
        training, test = (datasets.bundled_digits(part, steps) for part in (True, False))
    else:
        training, test = (
            datasets.MNIST(options.root, train=part, transform=steps, download=options.download)
            for part in (True, False)
        )
    if options.samples:
        training = Subset(training, range(options.samples))
        test = Subset(test, range(options.samples))
    return DataLoader(training, options.batch_size, shuffle=True), DataLoader(test, 500)


def train(model: Net, loader: DataLoader, optimizer: optim.Optimizer, interval: int) -> None:
    model.train()
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        if step % interval == 0:
            print(f"  step {step:4}  loss {loss.item():.4f}")


def accuracy(model: Net, loader: DataLoader) -> float:
    model.eval()
    right = 0
    with thunk.no_grad():
        for images, labels in loader:
            right += (model(images).argmax(1) == labels).sum().item()
    return right / len(loader.dataset)


def main(arguments: list[str] | None = None) -> float:
    options = parsed(arguments)
    thunk.manual_seed(options.seed)
    training, test = digits(options)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=options.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=options.gamma)
    reached = 0.0
    for epoch in range(1, options.epochs + 1):
        start = time.perf_counter()
        print(f"epoch {epoch}, learning rate {scheduler.get_last_lr()[0]:.3f}")
        train(model, training, optimizer, options.log_interval)
        seconds = time.perf_counter() - start
        reached = accuracy(model, test)
        speed = len(training.dataset) / seconds
        print(f"  test accuracy {reached:.2%}, {speed:,.0f} digits a second")
        scheduler.step()
    return reached


if __name__ == "__main__":
    main()
