"""Every tensor operator among the 350 most used names of PyTorch's API exists here.

In: `data/api_census_top350.tsv`. Out: one test a name. What is left out is left out by prefix,
each with its reason, and listed by `test_what_is_left_out`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import thunk

CENSUS = Path(__file__).parent / "data" / "api_census_top350.tsv"

LEFT_OUT_PREFIXES = {
    "torch.cuda.": "CUDA",
    "torch.distributed": "distributed",
    "torch.jit.": "TorchScript",
    "torch.nn": "modules and initialisers",
    "torch.optim": "optimizers",
    "torch.utils.": "data loading",
    "torch.distributions": "distributions",
    "torch.backends.": "other back ends",
    "torch.compile": "capture",
    "torch.amp.": "autocast",
    "torch.autocast": "autocast",
}
KEPT_PREFIX = "torch.nn.functional"
LEFT_OUT_NAMES = {
    "Tensor.cuda": "CUDA",
    "torch.save": "serialization",
    "torch.load": "serialization",
    "Tensor.indices": "sparse layouts",
    "Tensor.name": "named tensors; in the census mostly other objects' attribute",
}


def census() -> list[str]:
    lines = CENSUS.read_text().splitlines()
    return [line.split("\t")[0] for line in lines if not line.startswith("#")][1:]


def reason_left_out(name: str) -> str | None:
    if name in LEFT_OUT_NAMES:
        return LEFT_OUT_NAMES[name]
    if name.startswith(KEPT_PREFIX):
        return None
    reasons = [why for prefix, why in LEFT_OUT_PREFIXES.items() if name.startswith(prefix)]
    return reasons[0] if reasons else None


REQUIRED = [name for name in census() if reason_left_out(name) is None]


def lookup(library: object, name: str) -> object:
    path = name.removeprefix("torch.").split(".")
    found = library
    for part in path:
        if not hasattr(found, part):
            return None
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", REQUIRED)
def test_name_exists(name: str) -> None:
    expected = lookup(torch, name)
    found = lookup(thunk, name)
    assert found is not None or expected is None, f"thunk has no {name}"
    assert callable(found) == callable(expected), f"{name}: {found!r}, in torch {expected!r}"


def test_what_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    left_out = {name: reason_left_out(name) for name in census() if name not in REQUIRED}
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(str(reason), []).append(name)
    with capsys.disabled():
        print(f"\ncensus: {len(REQUIRED)} names required, {len(left_out)} left out")
        for reason, names in sorted(by_reason.items()):
            print(f"  {reason}: {', '.join(names)}")
    assert len(REQUIRED) == 274
    assert len(REQUIRED) + len(left_out) == 350
