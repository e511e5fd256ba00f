"""The peers of a comparison: torch eager, torch.compile, jax.jit and Thunk.

Enters: a workload, sizes, data and weights. Leaves: its `Work` in one peer. Invariant: every peer
starts from the same weights; those of a library with PyTorch's names are copied in by name.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Mapping
from typing import Any

from workloads.workload import Sizes, Work, Workload, as_is

PEERS = ("torch", "compile", "jax", "thunk")
TITLES = {"torch": "torch eager", "compile": "torch.compile", "jax": "jax.jit", "thunk": "thunk"}
MODULES = {"torch": "torch", "compile": "torch", "jax": "jax", "thunk": "thunk"}
SETTINGS = {"THUNK_LAZY": "1"}  # what is compared is compiled execution, whatever the default
COMPILERS = ("g++", "c++", "clang++")

os.environ.update(SETTINGS)


def why_absent(peer: str) -> str:
    """Empty if the peer can be measured here, else the reason."""
    if importlib.util.find_spec(MODULES[peer]) is None:
        return f"{MODULES[peer]} is not installed"
    if peer == "compile" and not any(map(shutil.which, COMPILERS)):
        return "torch.compile wants a C++ compiler; none on PATH"
    return ""


def prepare(peer: str) -> Any:
    """Import the peer's library and settle its threads."""
    module = importlib.import_module(MODULES[peer])
    if peer == "jax":
        module.config.update("jax_platforms", "cpu")
        importlib.import_module("workloads.jaxes")
    return module


def make(
    peer: str, workload: Workload, sizes: Sizes, data: Mapping[str, Any],
    weights: Mapping[str, Any] | None,
) -> Work:  # fmt: skip
    """The workload in one peer; without weights, a library draws them from its seed."""
    module = prepare(peer)
    if peer == "jax":
        assert workload.jax is not None
        return workload.jax(weights or {}, sizes, data)
    wrap = module.compile if peer == "compile" else as_is
    work = workload.build(module, sizes, data, wrap)
    if work.model is not None and weights is not None:
        own = {name: module.tensor(array) for name, array in weights.items()}
        work.model.load_state_dict(own)
    return work


def weights_of(work: Work) -> dict[str, Any]:
    """Copies of a model's state, as arrays."""
    if work.model is None:
        return {}
    return {name: value.numpy().copy() for name, value in work.model.state_dict().items()}


def values(work: Work, count: int) -> list[float]:
    """What the first steps leave."""
    return [work.read(work.step()) for _ in range(count)]
