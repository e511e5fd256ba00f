"""REINFORCE on a pole that falls: actions sampled from a policy, rewards credited backwards."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(7)
eps = np.finfo(np.float32).eps.item()


class Pole:
    """A cart under a pole, pushed left or right."""

    def reset(self):
        self.state = [0.01, -0.02, 0.03, 0.01]
        return np.array(self.state, dtype=np.float32)

    def step(self, action):
        x, speed, angle, spin = self.state
        force = 10.0 if action == 1 else -10.0
        cos, sin = math.cos(angle), math.sin(angle)
        temp = (force + 0.05 * spin**2 * sin) / 1.1
        turn = (9.8 * sin - cos * temp) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
        push = temp - 0.05 * turn * cos / 1.1
        x, speed = x + 0.02 * speed, speed + 0.02 * push
        angle, spin = angle + 0.02 * spin, spin + 0.02 * turn
        self.state = [x, speed, angle, spin]
        done = abs(x) > 2.4 or abs(angle) > 0.21
        return np.array(self.state, dtype=np.float32), 1.0, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 24)
        self.dropout = nn.Dropout(p=0.0)
        self.affine2 = nn.Linear(24, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
env = Pole()


def select_action(state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    m = Categorical(policy(state))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    reward, policy_loss, returns = 0, [], []
    for r in policy.rewards[::-1]:
        reward = r + 0.99 * reward
        returns.insert(0, reward)
    returns = torch.tensor(returns)
    returns = returns / (returns.std() + eps)
    for log_prob, value in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * value)
    optimizer.zero_grad()
    loss = torch.cat(policy_loss).sum()
    loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return loss


for episode in range(20):
    state = env.reset()
    for _ in range(1, 40):
        state, reward, done = env.step(select_action(state))
        policy.rewards.append(reward)
        if done:
            break
    length = len(policy.rewards)
    print(f"{episode}.length {length}")
    print(f"{episode} {finish_episode().item():.9g}")
