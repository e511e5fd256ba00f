"""Samples a second through DataLoaders beside torch's, interleaved.

Enters: nothing. Leaves: a table. Run it as `python benchmarks/data_loading.py`.
"""

from typing import Any

import torch
import torch.utils.data

import thunk
import thunk.utils.data
import timing
from thunk.vision import datasets, transforms

ROWS = 4096
BATCH = 64


class Samples:
    """Samples made one by one, as most datasets make them."""

    def __init__(self, framework: Any) -> None:
        self.images = framework.rand(ROWS, 1, 28, 28)
        self.labels = list(range(ROWS))

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> Any:
        return self.images[index], self.labels[index]


class TorchDigits:
    """The bundled digits in torch, by the tensor calls that torchvision's transforms make."""

    def __init__(self) -> None:
        digits = datasets.bundled_digits()
        self.data = torch.from_numpy(digits.data.numpy())
        self.targets = torch.from_numpy(digits.targets.numpy())

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Any:
        image = self.data[index].numpy()[:, :, None]
        image = torch.from_numpy(image.transpose((2, 0, 1))).contiguous()
        image = image.to(torch.float32).div(255).clone()
        mean, std = (torch.as_tensor((x,)).view(-1, 1, 1) for x in (0.1307, 0.3081))
        return image.sub_(mean).div_(std), int(self.targets[index])


def digits_of(framework: Any) -> Any:
    if framework is torch:
        return TorchDigits()
    steps = [transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))]
    return datasets.bundled_digits(True, transforms.Compose(steps))


def rows(framework: Any, shape: tuple[int, ...], count: int = ROWS) -> Any:
    data = framework.utils.data
    return data.TensorDataset(framework.rand(count, *shape), framework.arange(count))


def passes(framework: Any) -> dict[str, tuple[int, Any]]:
    """By name: how many samples a pass has, and a function that makes one pass."""
    loader = framework.utils.data.DataLoader
    digits, photos = rows(framework, (1, 28, 28)), rows(framework, (3, 128, 128), 256)
    samples, pictures = Samples(framework), digits_of(framework)
    loaders = {
        "tensors": loader(digits, BATCH),
        "tensors, shuffled": loader(digits, BATCH, shuffle=True),
        "digits, transformed": loader(pictures, BATCH, shuffle=True),
        "single samples": loader(samples, BATCH, shuffle=True),
        "tensors, 2 workers": loader(digits, BATCH, num_workers=2, persistent_workers=True),
        "samples, 2 workers": loader(samples, BATCH, num_workers=2, persistent_workers=True),
        "6 MB batches, 2 workers": loader(photos, 32, num_workers=2, persistent_workers=True),
    }
    return {
        name: (len(each.dataset), lambda each=each: [None for _ in each])
        for name, each in loaders.items()
    }


def main() -> None:
    ours, theirs = passes(thunk), passes(torch)
    print(f"{'loader':24}  {'thunk 1/s':>10}  {'torch 1/s':>10}  {'ratio':>6}")
    for name, (count, way) in ours.items():
        least = timing.interleaved({"thunk": way, "torch": theirs[name][1]}, rounds=5)
        mine, peer = count / least["thunk"], count / least["torch"]
        print(f"{name:24}  {mine:10,.0f}  {peer:10,.0f}  {mine / peer:6.2f}")


if __name__ == "__main__":
    main()
