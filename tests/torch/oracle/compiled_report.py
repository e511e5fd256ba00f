"""The table of the compiled oracle, its floors, and what it lists as known to be wrong.

In: tallies. Out: lines for the terminal, and what lies below a floor of `compiled_floors.toml`.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from . import census
from .compiled import CHECKS, Tally

FLOORS = Path(__file__).with_name("compiled_floors.toml")
SUFFIX = ".compiled"  # of the files in which test processes leave their tallies
WHOLE_RUN = 500  # entries seen; below it someone chose a few tests, and floors mean nothing


def share(part: int, whole: int) -> float:
    """Per cent; of nothing, all."""
    return 100.0 * part / whole if whole else 100.0


def table(tallies: list[Tally]) -> str:
    """Samples by family and check: right, and computed without a call back."""
    heads = "".join(f"{check:>28}" for check in CHECKS)
    lines = ["compiled oracle: samples right / without call backs beyond the listed / all",
             f"{'family':11}{heads}"]
    families = sorted({each.family for each in tallies})
    for family in [*families, "all"]:
        cells = []
        for check in CHECKS:
            chosen = [each for each in tallies
                      if each.check == check and family in (each.family, "all")]
            cells.append("/".join(f"{sum(column):>6}" for column in (
                [each.right for each in chosen], [each.excused for each in chosen],
                [each.samples for each in chosen])))
        lines.append(f"{family:11}" + "".join(f"{cell:>28}" for cell in cells))
    return "\n".join([*lines, *_calls(tallies), *census.lines(tallies)])


def _calls(tallies: list[Tally]) -> list[str]:
    """Operators that called back or ran at once, those that most samples meet first."""
    lines = []
    for title, name in (("called back", "called_back"), ("ran while recorded", "at_once")):
        total: Counter[str] = Counter()
        where: dict[str, set[str]] = defaultdict(set)
        for each in tallies:
            for operator, count in getattr(each, name).items():
                total[operator] += min(count, each.samples)
                where[operator].add(each.entry)
        lines.append(f"{title}: {len(total)} operators")
        lines += [f"  {count:6} {operator.removeprefix('aten::')} ({_few(where[operator])})"
                  for operator, count in total.most_common()]
    return lines


def _few(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - 3} more" if len(ordered) > 3 else ""
    return ", ".join(ordered[:3]) + more


def reached(tallies: list[Tally]) -> dict[str, float]:
    """The figures that floors are set for, in per cent of samples."""
    samples = sum(each.samples for each in tallies)
    found = {"clean": share(sum(each.clean for each in tallies), samples),
             "excused": share(sum(each.excused for each in tallies), samples)}
    for check in CHECKS:
        chosen = [each for each in tallies if each.check == check]
        found[f"{check}_right"] = share(
            sum(each.right for each in chosen), sum(each.samples for each in chosen))
    return found


def below_floor(tallies: list[Tally]) -> list[str]:
    """The floors that a run over the whole database does not reach."""
    if len({each.entry for each in tallies}) < WHOLE_RUN:
        return []
    figures = reached(tallies)
    return [f"{name}: {figures[name]:.2f} per cent of the samples, the floor is {floor}"
            for name, floor in tomllib.loads(FLOORS.read_text()).items() if figures[name] < floor]


def write(folder: Path, process: str, tallies: list[Tally]) -> None:
    """Leave tallies for the table; each process writes a file of its own."""
    with (folder / f"{process}{SUFFIX}").open("a") as file:
        file.writelines(json.dumps(each.as_json()) + "\n" for each in tallies)


def read(folder: Path) -> list[Tally]:
    """The tallies that the processes of one run left."""
    lines = [line for path in sorted(folder.glob(f"*{SUFFIX}"))
             for line in path.read_text().splitlines()]
    return [Tally(**json.loads(line)) for line in lines]
