"""The functions that packages use most, and what of them is not compiled, with reasons.

In: the census's list. Out: names of entries, reasons for operators, and lines for the terminal.
Invariant: an often used function's samples compile whole but for the operators listed here.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from .compiled import Tally

NAMES = Path(__file__).parents[1] / "data" / "api_census_top350.tsv"
OUTSIDE = {
    r"_linalg_svd": "LAPACK iterates until singular values have settled",
    r"_unique.*|masked_select|_nonzero_columns|repeat_interleave\.Tensor|bincount":
        "the result's shape depends on data",
    r"rand.*|normal.*|bernoulli.*|uniform.*|exponential.*|multinomial|poisson|_standard_gamma.*":
        "PyTorch's numbers are drawn when the call is recorded",
    r"empty_strided": "memory with gaps, which no result of a program has",
    r".* of complex numbers": "complex numbers are left to NumPy",
}  # fmt: skip


@functools.cache
def often_used() -> frozenset[str]:
    """The functions and methods among the names that most packages use, without their modules."""
    found = set()
    for line in NAMES.read_text().splitlines():
        name = line.split("\t")[0]
        for home in ("torch.nn.functional.", "torch.", "Tensor."):
            if name.startswith(home):
                found.add(name.removeprefix("torch." if "functional" in home else home))
                break
    return frozenset(found)


def reason(operator: str) -> str | None:
    """Why an operator of an often used function need not be compiled."""
    plain = operator.removeprefix("aten::")
    return next((why for names, why in OUTSIDE.items() if re.fullmatch(names, plain)), None)


def operators_outside(tally: Tally) -> set[str]:
    """What of an entry's samples was not compiled."""
    return {name for names in tally.outside for name in re.findall(_NAME, names)}


_NAME = r"aten::\S+(?: of complex numbers)?"


def lines(tallies: Iterable[Tally]) -> list[str]:
    """Often used entries with operators that are not compiled, and why."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for tally in tallies:
        if is_often_used(tally.entry):
            for name in operators_outside(tally):
                found[tally.entry][name.removeprefix("aten::")] = reason(name) or "NO REASON"
    return [f"often used, not compiled whole: {len(found)} entries"] + [
        f"  {entry}: {', '.join(f'{name} ({why})' for name, why in sorted(outside.items()))}"
        for entry, outside in sorted(found.items())
    ]


def is_often_used(entry: str) -> bool:
    """Whether an entry, or the one it is a variant of, is on the list."""
    names, base = often_used(), entry.rpartition(".")[0]
    return entry in names or (base in names and base not in ("nn.functional", "linalg"))
