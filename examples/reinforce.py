"""Policy gradient (REINFORCE): a network learns to balance a pole on a cart.

The environment is the classic one of Barto, Sutton and Anderson (1983), written out below: a pole
on a cart falls over unless the cart is pushed left or right at the right time.
"""

import argparse
import math
import random

import thunk
import thunk.nn.functional as F
from thunk import nn, optim


class Cart:
    """A pole on a cart: four numbers of state, two actions, one point for every step upright."""

    gravity, cart_mass, pole_mass, half_length, push, seconds = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    widest, steepest = 2.4, math.radians(12)

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def reset(self) -> list[float]:
        self.state = [self.random.uniform(-0.05, 0.05) for _ in range(4)]
        return self.state

    def step(self, action: int) -> tuple[list[float], bool]:
        """Push left (0) or right (1); tells the new state and whether it is over."""
        place, speed, angle, turning = self.state
        mass = self.cart_mass + self.pole_mass
        force = self.push if action else -self.push
        lever = self.pole_mass * self.half_length
        common = (force + lever * turning**2 * math.sin(angle)) / mass
        bend = self.half_length * (4 / 3 - self.pole_mass * math.cos(angle) ** 2 / mass)
        turn_rate = (self.gravity * math.sin(angle) - math.cos(angle) * common) / bend
        speed_rate = common - lever * turn_rate * math.cos(angle) / mass
        self.state = [
            place + self.seconds * speed,
            speed + self.seconds * speed_rate,
            angle + self.seconds * turning,
            turning + self.seconds * turn_rate,
        ]
        over = abs(self.state[0]) > self.widest or abs(self.state[2]) > self.steepest
        return self.state, over


class Policy(nn.Module):
    """What the state says about each action."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, state: thunk.Tensor) -> thunk.Tensor:
        return F.log_softmax(self.layers(state), dim=-1)


def episode(policy: Policy, cart: Cart, longest: int) -> tuple[list[list[float]], list[int]]:
    """Play until the pole falls; the states seen and the actions taken."""
    states, actions = [], []
    state, over = cart.reset(), False
    with thunk.no_grad():
        while not over and len(actions) < longest:
            chances = policy(thunk.tensor([state])).exp()
            action = int(thunk.multinomial(chances, 1).item())
            states.append(state)
            actions.append(action)
            state, over = cart.step(action)
    return states, actions


def returns_of(length: int, discount: float) -> thunk.Tensor:
    """The points still to come at each step, later ones counting less, in standard units."""
    found, total = [], 0.0
    for _ in range(length):
        total = 1.0 + discount * total
        found.append(total)
    returns = thunk.tensor(found[::-1])
    return (returns - returns.mean()) / (returns.std() + 1e-6)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--longest", type=int, default=500)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--enough", type=float, default=300.0, help="mean steps to stop at")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> list[float]:
    options = parsed(arguments)
    thunk.manual_seed(options.seed)
    cart, policy = Cart(options.seed), Policy(options.hidden)
    optimizer = optim.Adam(policy.parameters(), lr=options.lr)
    lengths: list[float] = []
    for number in range(1, options.episodes + 1):
        states, actions = episode(policy, cart, options.longest)
        lengths.append(float(len(actions)))
        if len(actions) > 1:
            chosen = policy(thunk.tensor(states)).gather(1, thunk.tensor(actions)[:, None])
            loss = -(chosen.squeeze(1) * returns_of(len(actions), options.discount)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        recent = sum(lengths[-20:]) / len(lengths[-20:])
        if number % 20 == 0:
            print(f"episode {number:4}  upright for {recent:6.1f} steps on average")
        if recent >= options.enough:
            print(f"balanced after {number} episodes")
            break
    return lengths


if __name__ == "__main__":
    main()
