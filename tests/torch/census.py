"""The most used names of PyTorch's API, and which of them are left out here, each with its reason.

In: `data/api_census_top350.tsv`. Out: the names required, and the others by reason.
"""

from __future__ import annotations

from pathlib import Path

CENSUS = Path(__file__).parent / "data" / "api_census_top350.tsv"

LEFT_OUT_PREFIXES = {
    "torch.cuda.": "CUDA",
    "torch.distributed": "distributed",
    "torch.jit.": "TorchScript",
    "torch.backends.": "other back ends",
    "torch.compile": "capture",
}
LEFT_OUT_NAMES = {
    "Tensor.cuda": "CUDA",
    "Tensor.indices": "sparse layouts",
    "Tensor.name": "named tensors; in the census mostly other objects' attribute",
}


def census() -> list[str]:
    lines = CENSUS.read_text().splitlines()
    return [line.split("\t")[0] for line in lines if not line.startswith("#")][1:]


def reason_left_out(name: str) -> str | None:
    if name in LEFT_OUT_NAMES:
        return LEFT_OUT_NAMES[name]
    reasons = [why for prefix, why in LEFT_OUT_PREFIXES.items() if name.startswith(prefix)]
    return reasons[0] if reasons else None


def required_names() -> list[str]:
    return [name for name in census() if reason_left_out(name) is None]


def left_out_by_reason() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in census():
        reason = reason_left_out(name)
        if reason is not None:
            found.setdefault(reason, []).append(name)
    return found


def summary() -> str:
    """What is required and what is left out, in words."""
    lines = [f"{len(required_names())} names required; left out:"]
    lines += [f"  {reason}: {', '.join(names)}"
              for reason, names in sorted(left_out_by_reason().items())]
    return "\n".join(lines)
