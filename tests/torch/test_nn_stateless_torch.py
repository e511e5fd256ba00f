"""Calls of modules with other tensors in place, against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import thunk
from transcripts import Log, transcript


def stateless(lib: Any, log: Log) -> None:
    nn, call = lib.nn, lib.func.functional_call
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    own, x = module[0].weight, lib.ones(3, 2)
    given = {"0.weight": lib.ones(2, 2, requires_grad=True), "1.running_mean": lib.full((2,), 9.0)}
    result = call(module, given, x)
    result.sum().backward()
    log(result.shape, module[0].weight is own, module[1].running_mean, own.grad)
    log(given["0.weight"].grad is not None, given["1.running_mean"], module[1].num_batches_tracked)
    log(call(nn.Linear(2, 1), {"weight": lib.ones(1, 2), "bias": lib.zeros(1)}, (x,)))
    log(call(nn.Linear(2, 1), [{"weight": lib.ones(1, 2)}, {"bias": lib.zeros(1)}], x))
    tied = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    tied[1].weight = tied[0].weight
    log(call(tied, {"0.weight": lib.ones(2, 2)}, x).sum(), call(tied, {}, x).shape)
    log.tries(lambda: call(tied, {"0.weight": lib.ones(2, 2), "1.weight": lib.zeros(2, 2)}, x))
    both = {"0.weight": lib.ones(2, 2), "1.weight": lib.zeros(2, 2)}
    log(call(tied, both, x, tie_weights=False).sum())
    log.tries(lambda: call(nn.Linear(2, 1), {"weight": lib.ones(1, 2), "no": x}, x, strict=True))
    log.tries(lambda: call(nn.Linear(2, 1), {"deep.er": x}, x))
    log.tries(lambda: call(nn.Linear(2, 1), [{"bias": x}, {"bias": x}], x))
    log.tries(lambda: call(nn.Linear(2, 1), [3], x))
    log.tries(lambda: call(nn.Linear(2, 1), 3, x))
    failing = nn.Linear(2, 1)
    weight = failing.weight
    log.tries(lambda: call(failing, {"weight": lib.ones(1, 3)}, None))
    log(failing.weight is weight)
    stacked = lib.func.stack_module_state([nn.Linear(1, 2), nn.Linear(1, 2)])
    log([(key, value.shape, value.requires_grad) for key, value in stacked[0].items()], stacked[1])
    log.tries(lambda: lib.func.stack_module_state([]))
    log.tries(lambda: lib.func.stack_module_state([nn.Linear(1, 2), nn.Identity()]))


def stateless_members(lib: Any, log: Log) -> None:
    """What forward sees and changes while other tensors are in place."""
    nn, call = lib.nn, lib.func.functional_call

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(1, 1)
            self.tied = self.linear.bias
            self.count = nn.Buffer(lib.zeros(1))
            self.plain = 0.0

        def forward(self, x: Any, *, assign: bool = True) -> Any:
            log([name for name, _ in self.named_parameters()], hasattr(self, "extra"))
            log([name for name, _ in self.named_buffers()])
            if assign:
                self.count = self.count + 1
            else:
                self.count.add_(1)
            return self.linear(x) + self.tied + self.count

    module, x = Counting(), lib.ones(1)
    named, count = {"linear.weight": lib.ones(1, 1)}, lib.full((1,), 5.0)
    for given in (
        {**named, "count": count}, {**named, "linear.bias": None}, {"linear.weight": 3},
        {**named, "plain": x}, {**named, "none.bias": x}, {**named, "linear.none.x": x},
        {**named, "extra": x}, {**named, "extra": nn.Parameter(x)},
        {**named, "extra": nn.Buffer(x)}, {**named, "linear.bias": lib.zeros(1)},
    ):  # fmt: skip
        log.tries(lambda: call(module, given, x, {"assign": True}))  # noqa: B023
        log(sorted(given), given.get("count"), module.count, hasattr(module, "extra"))
        log(list(module._parameters), list(module._buffers), list(module.linear._parameters))
        log.tries(lambda: call(module, given, x, tie_weights=False, strict=True))  # noqa: B023
    given = {"count": count}
    log(call(module, given, x, {"assign": False}).shape, count, given["count"] is count)
    module.linear.back = module
    log(call(module, {"linear.back.linear.weight": lib.zeros(1, 1)}, x, tie_weights=False))
    log.tries(lambda: call(module, {}, (), {}, tie_weights=False))


SCENARIOS = [stateless, stateless_members]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_both_say_the_same(scenario: Any) -> None:
    ours, theirs = transcript(thunk, scenario), transcript(torch, scenario)
    assert ours == theirs
