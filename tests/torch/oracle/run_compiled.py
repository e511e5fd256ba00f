"""The compiled oracle by hand: choose entries, samples and threads; a line a check, then the table.

In: options (see README.md). Out: lines and the table; exit status 1 if a sample is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import torch

from thunk.backends.cpu.machine import lanes
from thunk.backends.cpu.runner import threads
from thunk.base.config import config

from . import compiled_report
from .catalog import Entry, select
from .compiled import CHECKS, Tally, checks_of, judge_compiled
from .families import FAMILIES
from .subject import Subject
from .verdict import Case


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torch.oracle.run_compiled")
    parser.add_argument("--op", action="append", default=[], help="an entry, by name")
    parser.add_argument("--names", help="entries whose name matches this pattern")
    parser.add_argument("--family", action="append", default=[], choices=FAMILIES)
    parser.add_argument("--check", action="append", default=[], choices=CHECKS)
    parser.add_argument("--dtype", action="append", default=[])
    parser.add_argument("--sample", help="only the sample with this label")
    parser.add_argument("--max-samples", type=int, help="of a check; without it, all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--vectors", choices=("auto", "256"), default="auto",
                        help="256: as on a machine without AVX-512")
    parser.add_argument("--part", default="0/1", help="every n-th entry from the k-th, as k/n")
    parser.add_argument("--quiet", action="store_true", help="only lines of what is wrong")
    parser.add_argument("--results", type=Path, help="folder to leave the tallies in")
    return parser.parse_args(arguments)


def tallies_of(entry: Entry, subject: Subject, options: argparse.Namespace) -> list[Tally]:
    """Every wanted check of an entry in its dtypes."""
    found = []
    for dtype in [getattr(torch, name) for name in options.dtype] or entry.dtypes():
        if dtype not in entry.info.dtypes:
            continue
        case = Case(entry, subject, dtype, options.max_samples, options.sample)
        for check in checks_of(entry, dtype):
            if check in (options.check or CHECKS):
                start = time.perf_counter()
                tally = judge_compiled(case, check)
                tally.seconds = time.perf_counter() - start
                found.append(tally)
    return found


def report(tally: Tally, quiet: bool) -> None:
    if quiet and tally.right == tally.samples:
        return
    called = ", ".join(f"{name.removeprefix('aten::')} {count}"
                       for name, count in (tally.called_back + tally.at_once).items())
    print(f"{tally.entry} {tally.dtype} {tally.check}: {tally.right} right, {tally.clean} without "
          f"call backs of {tally.samples} ({tally.seconds:.1f} s) {called}")
    for line in tally.failures:
        print(f"    {line}")
    sys.stdout.flush()


def choose_machine(options: argparse.Namespace) -> str:
    """Set the width of vectors before any code is made; a line that says what there is."""
    if options.vectors != "auto":
        config.vectors = options.vectors
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    torch.set_num_threads(1)
    threads().set(options.threads)
    return f"vectors of {4 * lanes()} bytes, {threads().count} threads"


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    print(choose_machine(options))
    subject = Subject("thunk")
    if options.results is not None:
        options.results.mkdir(parents=True, exist_ok=True)
    first, step = map(int, options.part.split("/"))
    chosen = [entry for entry in select(options.op, options.names, options.family)
              if entry.outside is None][first::step]
    tallies = []
    for entry in chosen:
        for tally in tallies_of(entry, subject, options):
            report(tally, options.quiet)
            tallies.append(tally)
            if options.results is not None:
                compiled_report.write(options.results, f"part{first}", [tally])
    print(compiled_report.table(tallies))
    print(", ".join(f"{name} {value:.2f}%"
                    for name, value in compiled_report.reached(tallies).items()))
    return 1 if any(each.right < each.samples for each in tallies) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
