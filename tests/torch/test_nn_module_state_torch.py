"""State dicts of modules against PyTorch: keys, metadata, what loads, what mistakes say."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
import torch

import thunk
from transcripts import Log, transcript


def net(lib: Any) -> Any:
    nn = lib.nn

    class WithState(nn.Module):
        _version = 3

        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 2)
            self.register_buffer("count", lib.zeros(()))
            self.register_buffer("scratch", lib.zeros(2), persistent=False)
            self.note = "fresh"

        def get_extra_state(self) -> Any:
            return {"note": self.note}

        def set_extra_state(self, state: Any) -> None:
            self.note = state["note"]

    return nn.Sequential(nn.Linear(2, 3), WithState(), nn.BatchNorm1d(3))


def keys(lib: Any, log: Log) -> None:
    module = net(lib)
    state = module.state_dict()
    log(type(state).__name__, list(state), dict(state._metadata))
    log(list(module.state_dict(prefix="p.")), state["0.weight"].requires_grad)
    log(module.state_dict(keep_vars=True)["0.weight"] is module[0].weight)
    destination = OrderedDict(old=1)
    log(module[0].state_dict(destination=destination, prefix="x.") is destination)
    log(list(destination), hasattr(destination, "_metadata"))
    log(list(module[0].state_dict(OrderedDict(), "y.", True)))
    module.state_dict()["0.bias"].fill_(5.0)
    log(module[0].bias)


def loading(lib: Any, log: Log) -> None:
    module, source = net(lib), net(lib)
    source[1].note = "loaded"
    weight = module[0].weight
    log(module.load_state_dict(source.state_dict()), module[1].note)
    log(lib.equal(weight, source[0].weight), module[0].weight is weight, weight.requires_grad)
    partial = {"0.weight": lib.ones(3, 2), "new": 1}
    result = module.load_state_dict(partial, strict=False)
    log(result, result.missing_keys, result.unexpected_keys, module[0].weight)
    for state in (
        partial,
        {**source.state_dict(), "1.inner.more.deep": lib.ones(1), "1.weight": lib.ones(1)},
        {**source.state_dict(), "0.weight": lib.ones(2, 3), "1.count": lib.ones(2)},
        {**source.state_dict(), "0.weight": "text"},
        {**source.state_dict(), "0._extra_state": 1},
        {**source.state_dict(), "1.count": lib.ones(1)},
        {key: value for key, value in source.state_dict().items() if "count" not in key},
        [1, 2],
    ):
        log.tries(lambda state=state: module.load_state_dict(state))
        log.tries(lambda state=state: module.load_state_dict(state, strict=False))
    log(module.state_dict())


def assigning(lib: Any, log: Log) -> None:
    module = net(lib)
    module[0].bias.requires_grad_(False)
    state = {**net(lib).double().state_dict()}
    state["0.weight"] = lib.nn.Parameter(state["0.weight"], requires_grad=False)
    before = module[0].weight
    log(module.load_state_dict(state, assign=True))
    log(module[0].weight is before, module[0].weight is state["0.weight"], module[0].weight.dtype)
    log(module[0].weight.requires_grad, module[0].bias.requires_grad, type(module[0].bias).__name__)
    log(module[1].count is state["1.count"], module[2].running_mean.dtype)
    with lib.device("meta"):
        empty = lib.nn.Linear(2, 2)
    full = lib.nn.Linear(2, 2)
    log.tries(lambda: empty.load_state_dict(full.state_dict()))
    log(empty.weight.is_meta)
    log(empty.load_state_dict(full.state_dict(), assign=True), empty.weight.is_meta)


def save_hooks(lib: Any, log: Log) -> None:
    module = net(lib)

    def after(owner: Any, state: Any, prefix: str, metadata: Any) -> None:
        log("after", type(owner).__name__, sorted(state), prefix, metadata)
        metadata["seen"] = True
        state[f"{prefix}added"] = lib.ones(1)

    module[0].register_state_dict_post_hook(after)
    module[0].register_state_dict_pre_hook(
        lambda owner, prefix, keep: log("before", type(owner).__name__, prefix, keep)
    )
    log(list(module.state_dict()), module.state_dict()._metadata["0"])
    log.tries(lambda: module._register_state_dict_hook(after))
    module._register_state_dict_hook(lambda owner, state, prefix, metadata: {"only": 1})
    log(module.state_dict())
    wrong = lib.nn.Identity()
    wrong.register_state_dict_post_hook(lambda *_: 1)
    log.tries(wrong.state_dict)


def load_hooks(lib: Any, log: Log) -> None:
    module = net(lib)

    def before(owner: Any, state: Any, prefix: str, *rest: Any) -> None:
        log("before", type(owner).__name__, sorted(state), prefix, *rest)
        state[f"{prefix}weight"] = state.pop(f"{prefix}renamed")

    def after(owner: Any, incompatible: Any) -> None:
        log("after", type(owner).__name__, incompatible)
        incompatible.missing_keys.clear()

    handle = module[0].register_load_state_dict_pre_hook(before)
    module.register_load_state_dict_post_hook(after)
    module[0]._register_load_state_dict_pre_hook(lambda *args: log("plain", len(args)))
    state = net(lib).state_dict()
    state["0.renamed"] = state.pop("0.weight")
    del state["0.bias"]
    log.tries(lambda: module.load_state_dict(state))
    handle.remove()
    log.tries(lambda: module.load_state_dict(state))
    module.register_load_state_dict_post_hook(lambda *_: 1)
    log.tries(lambda: module.load_state_dict(state, strict=False))


def versions(lib: Any, log: Log) -> None:
    seen: list[Any] = []

    class Versioned(lib.nn.Linear):
        _version = 2

        def _load_from_state_dict(self, state: Any, prefix: str, metadata: Any, *rest: Any) -> None:
            seen.append((prefix, metadata.get("version")))
            super()._load_from_state_dict(state, prefix, metadata, *rest)

    module = lib.nn.Sequential(Versioned(1, 1), Versioned(1, 1))
    state = module.state_dict()
    module.load_state_dict(state)
    module.load_state_dict(dict(state))
    log(seen)


def tied(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, bias=False))
    module[1].weight = module[0].weight
    state = module.state_dict()
    log(list(state), state["0.weight"].data_ptr() == state["1.weight"].data_ptr())
    state = {key: lib.full_like(value, 4.0) for key, value in state.items()}
    log(module.load_state_dict(state), module[1].weight is module[0].weight, module[1].weight)


def refusals(lib: Any, log: Log) -> None:
    module = lib.nn.Linear(2, 2)
    log.tries(lambda: type(module.get_extra_state).__name__)
    for call in (module.get_extra_state, lambda: module.set_extra_state(1)):
        try:
            call()
        except RuntimeError:
            log("refused")


SCENARIOS = [
    keys, loading, assigning, save_hooks, load_hooks, versions, tied, refusals,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_both_say_the_same(scenario: Any) -> None:
    ours, theirs = transcript(thunk, scenario), transcript(torch, scenario)
    assert ours == theirs
