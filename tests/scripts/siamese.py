"""Pairs of pictures by one network applied twice: shared weights, a Dataset of one's own."""

import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(6)
random.seed(6)


class Pairs(Dataset):
    def __init__(self, size):
        super().__init__()
        self.images = torch.rand(size, 1, 12, 12)
        self.classes = [i % 4 for i in range(size)]
        for place, label in enumerate(self.classes):
            self.images[place] += 0.5 * label

    def __len__(self):
        return len(self.classes)

    def __getitem__(self, index):
        other = random.randrange(len(self))
        same = float(self.classes[index] == self.classes[other])
        return self.images[index], self.images[other], torch.tensor(same, dtype=torch.float)


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(inplace=True), nn.AvgPool2d(2),
            nn.Conv2d(6, 8, 3), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((2, 2)),
        )
        self.fc = nn.Sequential(
            nn.Linear(64, 16), nn.ReLU(inplace=True), nn.Linear(16, 1)
        )
        self.sigmoid = nn.Sigmoid()
        self.features.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.features(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        both = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(both))


model = SiameseNetwork()
optimizer = optim.RMSprop(model.parameters(), lr=1e-3)
scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
criterion = nn.BCELoss()
loader = DataLoader(Pairs(64), batch_size=16, shuffle=True)
for epoch in range(5):
    model.train()
    for step, (first, second, targets) in enumerate(loader):
        optimizer.zero_grad()
        outputs = model(first, second).squeeze()
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        print(f"{epoch}.{step} {loss.item():.9g}")
    scheduler.step()
