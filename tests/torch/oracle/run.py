"""The oracle's command line: choose entries, dtypes and checks; a line each, then a summary.

In: options (see README.md). Out: PASS, MISS or FAIL lines and an exit status of 1 on a failure.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

import torch

from . import checks, gradients
from .catalog import Entry, select
from .families import FAMILIES
from .outcome import FAIL, MISS, PASS, SKIP, Outcome
from .subject import Subject
from .verdict import Case

CHECKS = {
    "forward": checks.forward,
    "noncontiguous": checks.noncontiguous,
    "method": checks.method,
    "operator": checks.operator,
    "inplace": checks.inplace,
    "alias": checks.alias,
    "out": checks.out,
    "errors": checks.errors,
    "gradient": gradients.gradient,
    "inplace_gradient": gradients.inplace_gradient,
    "gradgrad": gradients.gradgrad,
}
MOST_SAMPLES = 24


def applicable(entry: Entry, dtype: torch.dtype) -> list[str]:
    """The checks that make sense for an entry in a dtype."""
    info = entry.info
    differentiable = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
    rules = {
        "forward": True,
        "noncontiguous": True,
        "method": info.method_variant is not None,
        "operator": info.operator_variant is not None,
        "inplace": info.inplace_variant is not None,
        "alias": True,
        "out": info.supports_out,
        "errors": info.error_inputs_func is not None,
        "gradient": differentiable,
        "inplace_gradient": (differentiable and info.supports_inplace_autograd
                             and info.inplace_variant is not None),
        "gradgrad": differentiable and info.supports_gradgrad,
    }
    return [name for name, applies in rules.items() if applies]


def judge_entry(case: Case, wanted: list[str]) -> list[Outcome]:
    """Every wanted check that applies to the case."""
    outcomes = []
    for name in applicable(case.entry, case.dtype):
        if wanted and name not in wanted:
            continue
        if not case.subject.has(case.entry.required):
            outcomes.append(Outcome(case.entry.full_name, case.entry.family, case.dtype_name,
                                    name, MISS, detail=f"attr {case.entry.required}"))
            continue
        start = time.perf_counter()
        outcome = CHECKS[name](case)
        outcome.seconds = time.perf_counter() - start
        outcomes.append(outcome)
    return outcomes


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torch.oracle.run")
    parser.add_argument("--op", action="append", default=[], help="an entry, by name")
    parser.add_argument("--names", help="entries whose name matches this pattern")
    parser.add_argument("--family", action="append", default=[], choices=FAMILIES)
    parser.add_argument("--check", action="append", default=[], choices=list(CHECKS))
    parser.add_argument("--dtype", action="append", default=[])
    parser.add_argument("--sample", help="only the sample with this label")
    parser.add_argument("--max-samples", type=int, default=MOST_SAMPLES)
    parser.add_argument("--subject", default="thunk", help="the library judged")
    parser.add_argument("--missing", action="store_true", help="list missing names, run nothing")
    parser.add_argument("--list", action="store_true", help="list the entries, run nothing")
    parser.add_argument("--notes", action="store_true", help="print notes such as strides")
    parser.add_argument("--quiet", action="store_true", help="print failures only")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    torch.set_num_threads(1)
    chosen = select(options.op, options.names, options.family)
    if not chosen:
        print("no entry chosen; see --list")
        return 2
    if options.list:
        for entry in chosen:
            print(f"{entry.family:10} {entry.full_name:50} {entry.outside or ''}")
        return 0
    subject = Subject(options.subject)
    if options.missing:
        return list_missing(subject, chosen)
    outcomes = []
    for entry in chosen:
        found = judge_chosen(entry, subject, options)
        report_entry(entry, found, options)
        outcomes += found
    if options.json:
        options.json.write_text(json.dumps([outcome.as_json() for outcome in outcomes]))
    return summarise(outcomes)


def list_missing(subject: Subject, chosen: list[Entry]) -> int:
    inside = [entry for entry in chosen if entry.outside is None]
    absent = [entry for entry in inside if not subject.has(entry.required)]
    for entry in absent:
        print(f"{entry.family:10} {entry.full_name:50} needs {entry.required}")
    print(f"{len(absent)} of {len(inside)} entries have no callable")
    return 0


def judge_chosen(entry: Entry, subject: Subject, options: argparse.Namespace) -> list[Outcome]:
    if entry.outside is not None:
        return [Outcome(entry.full_name, entry.family, "", "all", SKIP, detail=entry.outside)]
    dtypes = [getattr(torch, name) for name in options.dtype] or entry.dtypes()
    outcomes = []
    for dtype in dtypes:
        if dtype in entry.info.dtypes:
            case = Case(entry, subject, dtype, options.max_samples, options.sample)
            outcomes += judge_entry(case, options.check)
    return outcomes


def report_entry(entry: Entry, outcomes: list[Outcome], options: argparse.Namespace) -> None:
    """One line for an entry that is right, one block for each check that is not."""
    bad = [outcome for outcome in outcomes if outcome.status == FAIL]
    missed = sorted({outcome.detail for outcome in outcomes if outcome.status == MISS})
    seconds = sum(outcome.seconds for outcome in outcomes)
    passed = Counter(outcome.check for outcome in outcomes if outcome.status == PASS)
    if bad:
        print(f"FAIL {entry.full_name} ({seconds:.1f} s)  passed: {' '.join(passed) or 'nothing'}")
        for outcome in bad:
            print(f"  {outcome.check} {outcome.dtype}: {outcome.detail}")
    elif not options.quiet and outcomes:
        samples = sum(outcome.samples for outcome in outcomes)
        word = "PASS" if passed else "SKIP"
        skipped = "" if passed else "; ".join(sorted({outcome.detail for outcome in outcomes}))
        if not (missed and not passed):
            print(f"{word} {entry.full_name} {' '.join(passed)}{skipped} "
                  f"({samples} samples, {seconds:.1f} s)")
    for detail in missed if not options.quiet else []:
        where = sorted({o.check for o in outcomes if o.status == MISS and o.detail == detail})
        print(f"MISS {entry.full_name} {detail} ({' '.join(where)})")
    for outcome in outcomes if options.notes else []:
        for note in outcome.notes:
            print(f"  note {outcome.check} {outcome.dtype} {note}")
    sys.stdout.flush()


def summarise(outcomes: list[Outcome]) -> int:
    """A table: for each check how many entries passed, failed, lack a name, were skipped."""
    print(f"\n{'check':17} {'pass':>6} {'fail':>6} {'miss':>6} {'skip':>6}")
    for check in [*CHECKS, "all"]:
        states: dict[str, str] = {}
        order = (SKIP, PASS, MISS, FAIL)
        for outcome in outcomes:
            if outcome.check == check:
                old = states.get(outcome.entry, SKIP)
                states[outcome.entry] = max(old, outcome.status, key=order.index)
        if states:
            counts = Counter(states.values())
            print(f"{check:17} " + " ".join(f"{counts[s]:6}" for s in (PASS, FAIL, MISS, SKIP)))
    return 1 if any(outcome.status == FAIL for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
