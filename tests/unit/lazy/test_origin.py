"""A recorded operation says which line made it, and in the call of which modules."""

from __future__ import annotations

from typing import Any

import pytest

import thunk
from thunk import nn
from thunk.lazy import debug
from thunk.lazy.eager import execution


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return self.inner(x).tanh()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.head(x) * 2


@pytest.mark.parametrize("hooked", [False, True])
def test_nodes_carry_the_modules_around_them(hooked: bool) -> None:
    with execution(lazy=True):
        net = Net()
        if hooked:
            net.blocks[1].register_forward_hook(lambda module, args, result: None)
        text = debug.dump_ir([net(thunk.ones(2, 3)) + 1], "text")
    words = [word for line in text.splitlines() for word in line.split()]
    assert [word for word in words if word.startswith("Net")] == [
        "Net/blocks.0/inner", "Net/blocks.0", "Net/blocks.1/inner", "Net/blocks.1",
        "Net/head/0", "Net/head/1", "Net",
    ]  # fmt: skip
    assert all("test_origin.py" in line for line in text.splitlines() if " Net" in line)
