"""A variational autoencoder of handwritten digits; writes new digits into a picture.

Uses the digits that come with the package.
"""

import argparse
from pathlib import Path

import thunk
import thunk.nn.functional as F
from thunk import nn, optim
from thunk.utils.data import DataLoader, Subset
from thunk.vision import datasets, transforms
from thunk.vision.utils import save_image

PIXELS = 28 * 28


class Autoencoder(nn.Module):
    """A picture as a few normally distributed numbers, and back."""

    def __init__(self, hidden: int, latent: int) -> None:
        super().__init__()
        self.encode = nn.Linear(PIXELS, hidden)
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, PIXELS), nn.Sigmoid()
        )

    def forward(self, images: thunk.Tensor) -> tuple[thunk.Tensor, thunk.Tensor, thunk.Tensor]:
        hidden = F.relu(self.encode(images.view(-1, PIXELS)))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + thunk.randn_like(mean) * thunk.exp(0.5 * log_variance)
        return self.decoder(code), mean, log_variance


def loss_of(model: Autoencoder, images: thunk.Tensor) -> thunk.Tensor:
    """How badly pictures are redrawn, plus how far their codes are from a standard normal."""
    redrawn, mean, log_variance = model(images)
    wrong = F.binary_cross_entropy(redrawn, images.view(-1, PIXELS), reduction="sum")
    apart = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum()
    return (wrong + apart) / len(images)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=400)
    parser.add_argument("--latent", type=int, default=20)
    parser.add_argument("--samples", type=int, help="train with this many digits only")
    parser.add_argument("--picture", default="digits.png", help="file for 64 new digits")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> list[float]:
    options = parsed(arguments)
    thunk.manual_seed(options.seed)
    digits = datasets.bundled_digits(True, transforms.ToTensor())
    if options.samples:
        digits = Subset(digits, range(options.samples))
    loader = DataLoader(digits, options.batch_size, shuffle=True)
    model = Autoencoder(options.hidden, options.latent)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for epoch in range(1, options.epochs + 1):
        total = thunk.zeros(())
        for images, _ in loader:
            optimizer.zero_grad()
            loss = loss_of(model, images)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        losses.append(total.item() / len(loader))
        print(f"epoch {epoch}  loss {losses[-1]:.2f}")
    with thunk.no_grad():
        drawn = model.decoder(thunk.randn(64, options.latent)).view(64, 1, 28, 28)
    save_image(drawn, options.picture)
    print(f"64 new digits are in {Path(options.picture).resolve()}")
    return losses


if __name__ == "__main__":
    main()
