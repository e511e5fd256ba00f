"""Layers trained one by one on good and bad examples, without a backward pass through the net."""

import torch
import torch.nn as nn
from torch.optim import Adam

torch.manual_seed(9)


def embed_label(x, y, num_classes=10):
    marked = x.clone()
    marked[:, :num_classes] *= 0.0
    marked[range(x.shape[0]), y] = x.max()
    return marked


class Layer(nn.Linear):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.relu = torch.nn.ReLU()
        self.opt = Adam(self.parameters(), lr=0.02)
        self.threshold = 2.0

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

    def train_step(self, x_pos, x_neg):
        g_pos = self.forward(x_pos).pow(2).mean(1)
        g_neg = self.forward(x_neg).pow(2).mean(1)
        loss = torch.log(
            1 + torch.exp(torch.cat([-g_pos + self.threshold, g_neg - self.threshold]))
        ).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.layers = [Layer(dims[d], dims[d + 1]) for d in range(len(dims) - 1)]

    def predict(self, x):
        goodness = []
        for label in range(10):
            h, total = embed_label(x, torch.full((x.shape[0],), label)), []
            for layer in self.layers:
                h = layer(h)
                total.append(h.pow(2).mean(1))
            goodness.append(sum(total).unsqueeze(1))
        return torch.cat(goodness, 1).argmax(1)


net = Net([36, 24, 24])
x, y = torch.rand(48, 36), torch.randint(0, 10, (48,))
x_pos = embed_label(x, y)
x_neg = embed_label(x, y[torch.randperm(x.size(0))])
h_pos, h_neg = x_pos, x_neg
for i, layer in enumerate(net.layers):
    for step in range(20):
        print(f"{i}.{step} {layer.train_step(h_pos, h_neg).item():.9g}")
    h_pos, h_neg = layer(h_pos).detach(), layer(h_neg).detach()
print(f"correct {net.predict(x).eq(y).sum().item()}")
