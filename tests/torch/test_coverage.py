"""Of PyTorch's names that five or more real packages use, how many a script finds on Thunk.

In: the census beside this file. Out: the list of what is missing, and a floor under the rest.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from thunk.compat.check import lookup

CENSUS = Path(__file__).parent / "data" / "api_census_five_packages.tsv"
FLOOR = 0.985  # raised as names are added, never lowered

# Parts of PyTorch that are about its own compiler, other devices or other machines.
EXCLUDED = (
    "torch.cuda", "torch.distributed", "torch.jit", "torch.fx", "torch.onnx", "torch.ao",
    "torch.quantization", "torch.nn.quant", "torch._dynamo", "torch._inductor", "torch._C",
    "torch.xpu", "torch.ops", "Tensor.cuda",
)  # fmt: skip
# Names that the census took for PyTorch's: torch 2.13 does not have them either, or has them for
# tensors with a layout or a quantization that Thunk has not.
FOREIGN = {"Tensor.q_scale", "Tensor._values", "Tensor.indices", "Tensor.coalesce"}


def names() -> list[str]:
    lines = CENSUS.read_text().splitlines()
    found = [line.split("\t")[0] for line in lines if not line.startswith("#")][1:]
    return [name for name in found if not name.startswith(EXCLUDED) and name not in FOREIGN]


def full(name: str) -> str:
    return f"torch.{name}" if name.startswith("Tensor.") else name


def in_torch(name: str) -> object:
    found: object = torch
    for part in full(name).split(".")[1:]:
        found = getattr(found, part, None)
    return found


def test_coverage_of_the_census(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = names()
    missing = [name for name in wanted if lookup(full(name)) == (None, False)]
    share = 1 - len(missing) / len(wanted)
    with capsys.disabled():
        print(f"\ncensus: {share:.1%} of {len(wanted)} names exist; missing: {', '.join(missing)}")
    assert share >= FLOOR


def test_what_can_be_called_in_torch_can_be_called_here() -> None:
    wrong = []
    for name in names():
        found, beyond = lookup(full(name))
        theirs = in_torch(name)
        judged = found is not None and theirs is not None and not beyond
        if judged and callable(found) != callable(theirs):
            wrong.append(name)
    assert wrong == []
