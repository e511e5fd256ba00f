"""Larger pictures from small ones: convolutions, pixel shuffling, orthogonal initialisation."""

import math

import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(8, 8, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight)


torch.manual_seed(123)
large = torch.rand(40, 1, 12, 12)
small = nn.functional.interpolate(large, scale_factor=0.5, mode="bicubic", align_corners=False)
loader = DataLoader(TensorDataset(small, large), batch_size=8, shuffle=True)
model = Net(upscale_factor=2)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1, 5):
    epoch_loss = 0
    for iteration, (input, target) in enumerate(loader, 1):
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()
        print(f"{epoch}.{iteration} {loss.item():.9g}")
    with torch.no_grad():
        psnr = 10 * math.log10(1 / criterion(model(small), large).item())
    print(f"{epoch}.psnr {psnr:.9g}")
