"""`make bench`: whole steps through the public API, beside torch eager, torch.compile and jax.jit.

    python benchmarks/compare.py                       every workload, every peer
    python benchmarks/compare.py mlp cnn --peers torch thunk --rounds 5
    python benchmarks/compare.py --quick               tiny sizes: only whether everything runs
    python benchmarks/compare.py cnn --profile         the kernels of Thunk's step

Enters: names. Leaves: a table; JSON and a picture in `--out`. Invariant: peers take turns within
every round, read the loss every tenth step, call no barrier, and leave torch's values.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy

import alone
import peers
import profiles
import report
from workloads import WORKLOADS
from workloads.workload import Work, Workload

Clock = Callable[[], float]
CHECKED_STEPS = 4
TOLERANCE = 2e-3  # relative; rounding differs from the first operation on, and training spreads it
WARM_STEPS = 12
ROUND_SECONDS = 0.25


def burst(work: Work, steps: int, read_every: int, clock: Clock) -> float:
    """Seconds a step of `steps` steps; the last one is read."""
    started = clock()
    for number in range(1, steps + 1):
        left = work.step()
        if number % read_every == 0:
            work.read(left)
    return (clock() - started) / steps


def interleaved(
    works: Mapping[str, Work], workload: Workload, rounds: int, clock: Clock
) -> dict[str, Any]:
    """Milliseconds a step of each peer, round by round."""
    every, counts = workload.read_every, {}
    for peer, work in works.items():
        burst(work, WARM_STEPS, every, clock)
        seconds = burst(work, every, every, clock)
        counts[peer] = max(1, round(ROUND_SECONDS / seconds / every)) * every
    found: dict[str, list[float]] = {peer: [] for peer in works}
    for _ in range(rounds):
        for peer, work in works.items():
            found[peer].append(burst(work, counts[peer], every, clock) * 1e3)
    return found


def differences(read: Mapping[str, list[float]]) -> dict[str, float]:
    """The largest relative difference of each peer's values from torch's."""
    known = numpy.array(read["torch"])
    return {
        peer: float(numpy.max(numpy.abs(numpy.array(values) / known - 1)))
        for peer, values in read.items()
    }


def compared(workload: Workload, chosen: argparse.Namespace) -> dict[str, Any]:
    """Values, then times, of one workload."""
    sizes = workload.quick if chosen.quick else workload.sizes
    data = workload.data(sizes)
    exact = {**sizes, **workload.exact}
    weights = peers.weights_of(peers.make("torch", workload, sizes, data, None))
    works: dict[str, Work] = {}
    read: dict[str, list[float]] = {}
    failed: dict[str, str] = {}
    for peer in (each for each in chosen.peers if each in workload.peers):
        try:
            work = peers.make(peer, workload, exact, data, weights)
            read[peer] = peers.values(work, CHECKED_STEPS)
            works[peer] = work
            if workload.exact:
                works[peer] = peers.make(peer, workload, sizes, data, weights)
        except Exception as error:  # a peer that fails is reported; the others are measured
            if chosen.strict:
                raise
            failed[peer] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            print(f"  {peers.TITLES[peer]} failed: {failed[peer]}", flush=True)
    if "torch" not in read:
        read["torch"] = peers.values(
            peers.make("torch", workload, exact, data, weights), CHECKED_STEPS
        )
    wrong = {
        peer: value for peer, value in differences(read).items() if not value <= TOLERANCE
    }
    for peer, value in wrong.items():
        print(f"  {peers.TITLES[peer]}: values differ from torch's by {value:.1e}", flush=True)
    clock = time.process_time if chosen.cpu else time.perf_counter
    rounds = interleaved(works, workload, chosen.rounds, clock)
    least = {peer: min(times) for peer, times in rounds.items()}
    ours = least.get("thunk")
    return {
        "name": workload.name,
        "title": workload.title,
        "milliseconds": least,
        "medians": {peer: statistics.median(times) for peer, times in rounds.items()},
        "ratios": {} if ours is None else {
            peer: value / ours for peer, value in least.items() if peer != "thunk"
        },
        "wanted": dict(workload.wanted),
        "differences": differences(read),
        "failed": failed,
        "wrong": sorted(wrong),
    }  # fmt: skip


def stood_alone(workload: Workload, chosen: argparse.Namespace) -> dict[str, Any]:
    """First steps and memory, in processes of their own."""
    sizes = workload.quick if chosen.quick else workload.sizes
    weights = peers.weights_of(peers.make("torch", workload, sizes, workload.data(sizes), None))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.npz"
        numpy.savez(path, **weights)
        return {
            peer: alone.in_processes(workload.name, peer, chosen.quick, path)
            for peer in chosen.peers
            if peer in workload.peers
        }


def machine() -> str:
    """The processor, in words."""
    name = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return f"{name}, {os.cpu_count()} cores"


def versions(chosen: argparse.Namespace) -> dict[str, str]:
    modules = {peers.MODULES[peer] for peer in chosen.peers}
    return {name: __import__(name).__version__ for name in sorted(modules)}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--peers", nargs="+", choices=peers.PEERS, default=list(peers.PEERS))
    parser.add_argument("--rounds", type=int, default=15, help="how often the peers take turns")
    parser.add_argument(
        "--cpu", action="store_true",
        help="one core, and processor time instead of the clock: for machines that others use too",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--alone", action="store_true", help="first steps, memory; no comparison")
    parser.add_argument("--all", action="store_true", help="the comparison, then --alone")
    parser.add_argument("--profile", action="store_true", help="only the kernels of Thunk's step")
    parser.add_argument("--by", choices=("step", "name"), default="step", help="profile's rows")
    parser.add_argument("--strict", action="store_true", help="stop at the first failure")
    parser.add_argument("--out", default="", help="a folder for compare.json and compare.svg")
    chosen = parser.parse_args()
    unknown = set(chosen.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"expected workloads among {', '.join(WORKLOADS)}, got {sorted(unknown)}")
    return chosen


def write(folder: Path, about: Mapping[str, Any], results: list[dict[str, Any]]) -> None:
    """What is known so far, as JSON and as a picture: a run may be interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**about, "tolerance": TOLERANCE, "results": results}, indent=1)
    (folder / "compare.json").write_text(text, encoding="utf-8")
    title = f"a step's time beside torch eager's ({about['date']}, {about['machine']})"
    (folder / "compare.svg").write_text(report.picture(results, title), encoding="utf-8")


def main() -> int:
    chosen = parsed()
    if chosen.cpu:  # before the libraries are loaded, which count cores
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    workloads = [WORKLOADS[name] for name in chosen.workloads or WORKLOADS]
    if chosen.profile:
        for workload in workloads:
            profiles.show(workload, chosen.quick, chosen.by)
        return 0
    for peer in list(chosen.peers):
        reason = peers.why_absent(peer)
        if reason:
            print(f"{peers.TITLES[peer]} is left out: {reason}")
            chosen.peers.remove(peer)
    about = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "python": platform.python_version(),
        "clock": "processor" if chosen.cpu else "wall",
        "versions": versions(chosen),
    }
    print(", ".join(f"{key} {value}" for key, value in about.items()), flush=True)
    results: list[dict[str, Any]] = []
    for workload in workloads:
        print(f"{workload.name} ...", flush=True)
        blank: dict[str, Any] = {"name": workload.name, "title": workload.title}
        blank |= {"milliseconds": {}, "wrong": [], "failed": {}}
        found = blank if chosen.alone else compared(workload, chosen)
        if chosen.alone or chosen.all:
            found["alone"] = stood_alone(workload, chosen)
        results.append(found)
        if chosen.out:
            write(Path(chosen.out), about, results)
    if not chosen.alone:
        print("\n" + report.table(results))
        clock = "processor time of one core" if chosen.cpu else "wall clock"
        print(f"\n{clock}, least of {chosen.rounds} rounds; values within {TOLERANCE:g} of torch's")
    if chosen.alone or chosen.all:
        print("\n" + report.cold_table(results))
    if chosen.out:
        print(f"\nwritten: compare.json and compare.svg in {chosen.out}")
    # Peers that are wrong or fail are reported; only Thunk's faults are the run's.
    faults = [each["name"] for each in results if "thunk" in {*each["wrong"], *each["failed"]}]
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
