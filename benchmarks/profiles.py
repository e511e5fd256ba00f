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

Measured = dict[tuple[int, int], list[StepTime]]


@contextmanager
def watched(found: Measured, runs: list[float]) -> Iterator[None]:
    """Every program that runs meanwhile measures its steps."""
    usual = Program.launch, Program.run

    def launch(self: Program, inputs: Sequence[Any], numbers: Sequence[Any]) -> Launch:
        started = time.perf_counter()
        done, steps = self.timed(inputs, numbers)
        runs.append(time.perf_counter() - started)
        for position, step in enumerate(steps):
            found.setdefault((id(self), position), []).append(step)
        return done

    def run(self: Program, inputs: Sequence[Any], numbers: Sequence[Any]) -> list[Any]:
        return launch(self, inputs, numbers).outputs

    Program.launch, Program.run = launch, run  # type: ignore[method-assign]
    try:
        yield
    finally:
        Program.launch, Program.run = usual  # type: ignore[method-assign]


def show(workload: Workload, quick: bool, by: str) -> None:
    """Print what the programs of a repeated step spend their time on."""
    sizes = workload.quick if quick else workload.sizes
    work = peers.make("thunk", workload, sizes, workload.data(sizes), None)
    every = workload.read_every
    for number in range(WARM * every):
        left = work.step()
        if number % every == every - 1:
            work.read(left)
    found: Measured = {}
    runs: list[float] = []
    started = time.perf_counter()
    with watched(found, runs):
        for number in range(REPEATS * every):
            left = work.step()
            if number % every == every - 1:
                work.read(left)
    count = REPEATS * every
    whole = (time.perf_counter() - started) / count
    print(f"## {workload.title}: {whole * 1e3:.3f} ms a step, {len(runs) / count:.1f} programs")
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
