"""`compare.py --profile`: the native steps of the programs that one of Thunk's steps runs.

Enters: a workload. Leaves: a table on the terminal, the longest step first. Invariant: times are
measured with the threads of a usual run; the share is that of the nearer bound of the roofline.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import peers
from thunk.backends.cpu.launch import Launch
from thunk.backends.cpu.program import Program, StepTime
from workloads.workload import Workload

FLOPS, BYTES = 510e9, 85e9  # of two cores, measured: products, and copies of large memory
WARM, REPEATS, SHOWN = 12, 20, 40

Seen = list[tuple[Program, Any]]


@contextmanager
def watched(seen: Seen) -> Iterator[None]:
    """Every launch that is prepared meanwhile leaves its clock readings."""
    usual = Program.prepare

    def prepare(self: Program, inputs: Sequence[Any], numbers: Sequence[Any]) -> Launch:
        launch = usual(self, inputs, numbers)
        seen.append((self, self.watch(launch)))
        return launch

    Program.prepare = prepare  # type: ignore[method-assign]
    try:
        yield
    finally:
        Program.prepare = usual  # type: ignore[method-assign]


def measured(seen: Seen, seconds: float) -> dict[tuple[int, int], list[StepTime]]:
    """Every step of every program, run by run; `seconds` passed from the first tick to the last."""
    ran = [(program, ticks) for program, ticks in seen if len(ticks) > 1 and ticks[-1]]
    tick = seconds / max(int(ran[-1][1][-1]) - int(ran[0][1][0]), 1)
    found: dict[tuple[int, int], list[StepTime]] = {}
    for program, ticks in ran:
        for position, step in enumerate(program.times(ticks, tick)):
            found.setdefault((id(program), position), []).append(step)
    return found


def show(workload: Workload, quick: bool, by: str) -> None:
    """Print what the programs of a repeated step spend their time on."""
    sizes = workload.quick if quick else workload.sizes
    work = peers.make("thunk", workload, sizes, workload.data(sizes), None)
    every = workload.read_every
    for number in range(WARM * every):
        left = work.step()
        if number % every == every - 1:
            work.read(left)
    seen: Seen = []
    started = time.perf_counter()
    with watched(seen):
        for number in range(REPEATS * every):
            left = work.step()
            if number % every == every - 1:
                work.read(left)
    seconds, count = time.perf_counter() - started, REPEATS * every
    found = measured(seen, seconds)
    print(
        f"## {workload.title}: {seconds / count * 1e3:.3f} ms a step, "
        f"{len(seen) / count:.1f} programs"
    )
    rows = [
        (len(times) / count, min(each.seconds for each in times), times[0])
        for times in found.values()
    ]
    native = sum(often * seconds for often, seconds, _ in rows)
    bound = sum(often * _bound(step) for often, _, step in rows)
    print(f"{len(rows)} steps, {native * 1e3:.3f} ms native (least), bound {bound * 1e3:.3f} ms\n")
    if by == "name":
        rows = _by_name(rows)
    print(f"{'us':>9} {'bound':>8} {'MB':>7} {'Mflop':>8}  what, where")
    for often, seconds, step in sorted(rows, key=lambda row: -row[0] * row[1])[:SHOWN]:
        where = next((line for line in step.lines if line), "")
        print(
            f"{often * seconds * 1e6:9.1f} {often * _bound(step) * 1e6:8.1f} "
            f"{step.nbytes / 1e6:7.2f} {step.flops / 1e6:8.2f}  {step.name[:110]}  {where[-40:]}"
        )


def _bound(step: StepTime) -> float:
    return max(step.nbytes / BYTES, step.flops / FLOPS)


def _by_name(rows: list[tuple[float, float, StepTime]]) -> list[tuple[float, float, StepTime]]:
    """Steps of one name added up."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0, 0, 0])
    for often, seconds, step in rows:
        each = sums[step.name]
        each[0] += often * seconds
        each[1] += often * step.nbytes
        each[2] += often * step.flops
        each[3] += 1
    return [
        (1.0, seconds, StepTime(f"{count}x {name}", [], seconds, int(nbytes), int(flops)))
        for name, (seconds, nbytes, flops, count) in sums.items()
    ]
