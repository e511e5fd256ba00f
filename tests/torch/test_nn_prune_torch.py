"""Pruning against PyTorch: what is pruned, what modules hold meanwhile, errors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.utils.prune

import thunk
from transcripts import Log, transcript


def seen(module: Any, log: Log) -> None:
    log(list(module.state_dict()), module.weight, len(module._forward_pre_hooks))
    log(type(module.weight).__name__, [name for name, _ in module.named_parameters()])


def kinds(lib: Any, log: Log) -> None:
    prune = lib.nn.utils.prune
    for change in (
        lambda module: prune.identity(module, "weight"),
        lambda module: prune.random_unstructured(module, "weight", 0.4),
        lambda module: prune.random_unstructured(module, "weight", amount=3),
        lambda module: prune.l1_unstructured(module, "weight", 0.5),
        lambda module: prune.l1_unstructured(
            module, "weight", 4, importance_scores=lib.arange(12.0).reshape(3, 4)),
        lambda module: prune.random_structured(module, "weight", 0.5, dim=0),
        lambda module: prune.ln_structured(module, "weight", 1, n=2, dim=1),
        lambda module: prune.ln_structured(module, "weight", 0.3, n=float("inf"), dim=-1),
        lambda module: prune.custom_from_mask(module, "weight", lib.eye(3, 4)),
        lambda module: prune.l1_unstructured(module, "weight", 0.0),
    ):  # fmt: skip
        module = lib.nn.Linear(4, 3)
        log(change(module) is module, prune.is_pruned(module))
        seen(module, log)
        log(module(lib.ones(1, 4)))
        module(lib.ones(1, 4)).sum().backward()
        log(module.weight_orig.grad)
        log(prune.remove(module, "weight") is module, prune.is_pruned(module))
        seen(module, log)


def several(lib: Any, log: Log) -> None:
    prune = lib.nn.utils.prune
    module = lib.nn.Linear(4, 3)
    prune.l1_unstructured(module, "weight", 2)
    prune.ln_structured(module, "weight", 1, n=2, dim=0)
    prune.random_unstructured(module, "weight", 0.3)
    prune.custom_from_mask(module, "weight", lib.eye(3, 4))
    prune.random_unstructured(module, "bias", 1)
    seen(module, log)
    hook = next(iter(module._forward_pre_hooks.values()))
    log(type(hook).__name__, len(hook), [type(each).__name__ for each in hook])
    log(type(hook[0]).__name__)
    net = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Linear(3, 2))
    pairs = [(net[0], "weight"), (net[1], "weight"), (net[1], "bias")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.5)
    log(net[0].weight_mask, net[1].weight_mask, net[1].bias_mask)
    prune.global_unstructured(pairs[:2], prune.RandomUnstructured, amount=3)
    log(net[0].weight_mask, net[1].weight_mask, prune.is_pruned(net))
    log(prune.L1Unstructured(2).prune(lib.tensor([3.0, -1.0, 2.0])))
    other = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Linear(3, 2))
    prune.identity(other[0], "weight")
    prune.identity(other[1], "weight")
    prune.identity(other[1], "bias")
    log(other.load_state_dict(net.state_dict()), other(lib.ones(1, 2)), net(lib.ones(1, 2)))


def mistakes(lib: Any, log: Log) -> None:
    prune = lib.nn.utils.prune
    for call in (
        lambda: prune.l1_unstructured(lib.nn.Linear(2, 2), "weight", 1.5),
        lambda: prune.l1_unstructured(lib.nn.Linear(2, 2), "weight", -1),
        lambda: prune.l1_unstructured(lib.nn.Linear(2, 2), "weight", "x"),
        lambda: prune.l1_unstructured(lib.nn.Linear(2, 2), "weight", 9),
        lambda: prune.ln_structured(lib.nn.Linear(2, 2), "bias", 1, n=2, dim=0),
        lambda: prune.ln_structured(lib.nn.Linear(2, 2), "weight", 1, n=2, dim=3),
        lambda: prune.remove(lib.nn.Linear(2, 2), "weight"),
        lambda: prune.custom_from_mask(lib.nn.Linear(2, 2), "weight", lib.ones(3)),
        lambda: prune.l1_unstructured(lib.nn.Linear(2, 2), "weight", 1, lib.ones(3)),
        lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1),
        lambda: prune.global_unstructured(
            [(lib.nn.Linear(2, 2), "weight")], prune.L1Unstructured, [], amount=1),
        lambda: prune.l1_unstructured(lib.nn.Linear(2, 2), "none", 1),
    ):  # fmt: skip
        log.tries(call)
    module = lib.nn.Linear(2, 2)
    log.tries(lambda: prune.l1_unstructured(module, "weight", 9))
    log(sorted(module.state_dict()), prune.is_pruned(module))


SCENARIOS = [kinds, several, mistakes]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_both_say_the_same(scenario: Any) -> None:
    ours, theirs = transcript(thunk, scenario), transcript(torch, scenario)
    assert ours == theirs
