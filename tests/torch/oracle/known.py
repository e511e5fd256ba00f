"""Misses known by name, each with its reason; a listed miss that passes is stale and is reported.

In: an outcome. Out: the reason it is accepted, or None. A line without dtypes holds for every
dtype of the entry: it must miss in each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from .outcome import FAIL, MISS, PASS, Outcome


@dataclass(frozen=True)
class Known:
    """One accepted miss: entry, check (`*`: all of them), why, and in which dtypes."""

    entry: str
    check: str
    reason: str
    dtypes: tuple[str, ...] = ()

    def covers(self, outcome: Outcome) -> bool:
        return (outcome.entry == self.entry and self.check in ("*", outcome.check)
                and (not self.dtypes or outcome.dtype in self.dtypes))


KNOWN: tuple[Known, ...] = (
    Known("as_strided_scatter", "gradient", "torch keeps the window's gradient for self, drops "
          "the rest; its own test expects to fail"),
    Known("as_strided_scatter", "gradgrad", "follows from its gradient"),
    Known("masked.logaddexp", "gradgrad", "torch: NaN where both are masked out; here zero"),
    Known("nansum", "out", "torch has no kernel for an integral out=; here the sum is cast"),
    Known("nn.functional.linear_cross_entropy.chunked", "gradgrad",
          "torch drops the second gradient of its chunks; here it is there"),
    Known("nn.functional.linear_cross_entropy.chunked_none", "gradgrad",
          "torch refuses the second gradient of its chunks; here it is there"),
    Known("normal", "out", "torch refuses an empty out= where the mean is a tensor"),
    Known("normal.number_mean", "out", "torch refuses an empty out= where the mean is a tensor"),
    Known("nanmean", "out", "an integral out= raises RuntimeError, as for mean; torch: no kernel"),
)


def known_reason(outcome: Outcome) -> str | None:
    """Why a miss is accepted, or None."""
    for known in KNOWN:
        if known.covers(outcome):
            return known.reason
    return None


def stale(outcomes: list[Outcome]) -> list[str]:
    """Listed misses that pass; `*` is stale only when no check of the dtype misses."""
    found = []
    for known in KNOWN:
        by_dtype: dict[str, list[Outcome]] = {}
        for outcome in outcomes:
            if known.covers(outcome):
                by_dtype.setdefault(outcome.dtype, []).append(outcome)
        for dtype, covered in by_dtype.items():
            missing = [outcome for outcome in covered if outcome.status in (FAIL, MISS)]
            if not missing and any(outcome.status == PASS for outcome in covered):
                found.append(f"{known.entry} {known.check} {dtype}: {known.reason}")
    return found
