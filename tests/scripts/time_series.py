"""Sine waves continued by LSTM cells in double precision, fitted with LBFGS."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 10)
        self.lstm2 = nn.LSTMCell(10, 10)
        self.linear = nn.Linear(10, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 10, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 10, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), 10, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), 10, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


np.random.seed(2)
torch.manual_seed(0)
x = np.arange(14) + np.random.randint(-8, 8, 6).reshape(6, 1)
data = np.sin(x / 3.0).astype("float64")
input, target = torch.from_numpy(data[2:, :-1]), torch.from_numpy(data[2:, 1:])
test_input, test_target = torch.from_numpy(data[:2, :-1]), torch.from_numpy(data[:2, 1:])
seq = Sequence()
seq.double()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=6)
for i in range(4):

    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(input), target)
        print(f"loss {loss.item():.9g}")
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        pred = seq(test_input, future=4)
        loss = criterion(pred[:, :-4], test_target)
        print(f"test.{i} {loss.item():.9g}")
        y = pred.detach().numpy()
        print(f"future.{i} {y[0, -1]:.9g}")
