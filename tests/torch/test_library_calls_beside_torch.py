"""Library calls and torch in one process share one OpenMP runtime and never block each other."""

import numpy
import pytest
import torch

from library_calls import run
from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.layout import plain
from thunk.backends.cpu.calls.specs import matmul
from thunk.types.dtype import float32


@pytest.mark.parametrize("threads", [1, 2])
def test_taking_turns(threads: int) -> None:
    left, right = torch.randn(200, 300), torch.randn(300, 100)
    spec = matmul(
        plain((200, 300), float32), plain((300, 100), float32), plain((200, 100), float32),
        threads=threads,
    )  # fmt: skip
    call = build(spec)
    before = torch.get_num_threads()
    for _ in range(20):
        wanted = (left @ right).relu().sum(0)
        found = run(call, left=left.numpy(), right=right.numpy())["out"]
        numpy.testing.assert_allclose(found.clip(0).sum(0), wanted.numpy(), rtol=2e-5)
    assert torch.get_num_threads() == before
