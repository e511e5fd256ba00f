"""Every outcome -> the table of a run, the list of misses, and the floors.

In: outcomes (live, or JSON lines left by test processes). Out: text, and the floors not reached.
An entry counts as right in a check when it is right in every dtype tried.
"""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .known import known_reason, stale
from .outcome import FAIL, MISS, PASS, SKIP, Outcome

FORMS = ("noncontiguous", "method", "operator", "inplace", "alias", "out", "errors")
FLOORS = Path(__file__).with_name("floors.toml")
COLUMNS = ("entries", "covered", "forward", "complete", "gradient", "gradgrad")


@dataclass
class Standing:
    """One entry over all its dtypes: the worst status of each check."""

    family: str
    outside: str = ""
    checks: dict[str, str] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        order = (SKIP, PASS, MISS, FAIL)
        old = self.checks.get(outcome.check, SKIP)
        self.checks[outcome.check] = max(old, outcome.status, key=order.index)

    @property
    def covered(self) -> bool:
        return self.checks.get("forward", MISS) != MISS

    @property
    def complete(self) -> bool:
        return self.checks.get("forward") == PASS and all(
            self.checks.get(form, SKIP) in (PASS, SKIP) for form in FORMS)

    def counts(self) -> dict[str, tuple[int, int]]:
        """For each column: right, and how many could be."""
        inside = int(not self.outside)
        result = {
            "entries": (inside, inside),
            "covered": (int(bool(inside) and self.covered), inside),
            "forward": (int(self.checks.get("forward") == PASS), inside),
            "complete": (int(bool(inside) and self.complete), inside),
        }
        for check in ("gradient", "gradgrad"):
            state = self.checks.get(check, SKIP)
            in_place = self.checks.get(f"inplace_{check}", SKIP)
            if state == PASS and in_place in (FAIL, MISS):
                state = in_place
            result[check] = (int(state == PASS), int(state != SKIP))
        return result


def standings(outcomes: Iterable[Outcome]) -> dict[str, Standing]:
    """Outcomes by entry."""
    found: dict[str, Standing] = {}
    for outcome in outcomes:
        standing = found.setdefault(outcome.entry, Standing(outcome.family))
        if outcome.check == "all":
            standing.outside = outcome.detail
        else:
            standing.add(outcome)
    return found


def totals(entries: dict[str, Standing]) -> dict[str, dict[str, tuple[int, int]]]:
    """Family -> column -> (right, possible); the family `all` is the sum."""
    sums: dict[str, dict[str, list[int]]] = defaultdict(
        lambda: {column: [0, 0] for column in COLUMNS})
    for standing in entries.values():
        for column, (right, possible) in standing.counts().items():
            for family in (standing.family, "all"):
                sums[family][column][0] += right
                sums[family][column][1] += possible
    return {family: {column: (pair[0], pair[1]) for column, pair in columns.items()}
            for family, columns in sums.items()}


def table(outcomes: list[Outcome]) -> str:
    """The table by family, then the entries outside the oracle by reason."""
    entries = standings(outcomes)
    sums = totals(entries)
    order = [*sorted(family for family in sums if family not in ("all", "outside")), "all"]
    lines = ["operator oracle: entries of torch's op_db that are right / that have the property",
             f"{'family':11}" + "".join(f"{column:>12}" for column in COLUMNS)]
    for family in order:
        if family not in sums:
            continue
        cells = [f"{sums[family]['entries'][0]:>12}"]
        cells += [f"{right:>6}/{possible:<5}"
                  for right, possible in (sums[family][column] for column in COLUMNS[1:])]
        lines.append(f"{family:11}" + "".join(cells))
    reasons: dict[str, list[str]] = defaultdict(list)
    for name, standing in entries.items():
        if standing.outside:
            reasons[standing.outside].append(name)
    if reasons:
        lines.append(f"skipped: {sum(map(len, reasons.values()))} entries")
        lines += [f"  {reason}: {', '.join(names)}" for reason, names in sorted(reasons.items())]
    lines.append(_strides(outcomes))
    return "\n".join(lines)


def _strides(outcomes: list[Outcome]) -> str:
    with_notes = {outcome.entry for outcome in outcomes
                  if any("strides" in note for note in outcome.notes)}
    shown = ", ".join(sorted(with_notes)[:20])
    more = f" and {len(with_notes) - 20} more" if len(with_notes) > 20 else ""
    return f"strides differ (not failing): {len(with_notes)} entries {shown}{more}".rstrip()


def misses(outcomes: list[Outcome]) -> list[tuple[Outcome, str | None]]:
    """Everything that is not right, with the reason it is accepted or None."""
    return [(outcome, known_reason(outcome)) for outcome in outcomes
            if outcome.status in (FAIL, MISS)]


def miss_list(outcomes: list[Outcome]) -> str:
    """Each entry that misses, once: its checks, and the reason."""
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for outcome, reason in misses(outcomes):
        detail = outcome.detail.splitlines()[0] if outcome.detail else ""
        why = reason or f"NOT LISTED: {detail}"
        text = f"{outcome.check}.{outcome.dtype}" if outcome.status == FAIL else outcome.detail
        if text not in grouped[outcome.entry, why]:
            grouped[outcome.entry, why].append(text)
    lines = [f"  {entry}: {', '.join(checks)} ({why})"
             for (entry, why), checks in sorted(grouped.items())]
    head = [f"misses: {len({entry for entry, _ in grouped})} entries"]
    old = stale(outcomes)
    tail = [f"listed in known.py but right now: {len(old)}", *(f"  {line}" for line in old)]
    return "\n".join(head + lines + (tail if old else []))


def below_floor(outcomes: list[Outcome]) -> list[str]:
    """The floors that this run does not reach, in words."""
    floors = tomllib.loads(FLOORS.read_text())
    reached = totals(standings(outcomes)).get("all", {})
    short = []
    for column, floor in floors.items():
        count = reached.get(column, (0, 0))[0]
        if count < floor:
            short.append(f"{column}: {count} entries right, the floor is {floor}")
    return short


def read_results(folder: Path) -> list[Outcome]:
    """The outcomes that the test processes left in a folder."""
    outcomes = []
    for path in sorted(folder.glob("*.jsonl")):
        outcomes += [Outcome(**json.loads(line)) for line in path.read_text().splitlines()]
    return outcomes
