"""Enters: a range of seeds. Leaves: findings, shrunk, written to a file as they appear.

Invariant: programs run in child processes, so that a crash (PyTorch has some) costs one program;
a child's programs share one trie.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.generate import generate
from fuzz.judge import Finding, Mode, judge, reference
from fuzz.program import Program
from fuzz.shrink import shrink


class Report(NamedTuple):
    """A finding as text: what to read, and how to run it again."""

    seed: int
    mode: str
    words: str
    program: Program


def findings(
    seeds: range, modes: tuple[Mode, ...], budget: int = 200
) -> Iterator[tuple[int, Report | None]]:
    """Each seed with what was found, in this process."""
    for seed in seeds:
        program = generate(seed)
        found = judge(program, modes)
        yield seed, None if found is None else report(seed, found, budget)


def report(seed: int, found: Finding, budget: int = 200) -> Report:
    """The finding, shrunk as far as it fails in the same way."""
    statement = found.program[found.place] if found.place >= 0 else None

    def fails(candidate: Program) -> bool:
        want = reference(candidate)
        again = judge(candidate, (found.mode,), want)
        if again is None or cause(again.words) != cause(found.words) or "NameError" in again.words:
            return False
        return not again.words.startswith("error:") or candidate[again.place] == statement

    small = shrink(found.program, fails, budget)
    again = judge(small, (found.mode,))
    words = found.words if again is None else again.words
    return Report(seed, found.mode.name, words, small)


def cause(words: str) -> str:
    """What a finding is about, without names and numbers."""
    head, _, rest = words.partition(":")
    if head in ("error", "crash"):
        return head + rest.partition("(")[0][:60]
    return head.partition(".")[2]


def in_children(
    seeds: range, modes: tuple[Mode, ...], chunk: int
) -> Iterator[tuple[int, Report | None]]:
    """The same, in one child process after another; a seed that kills one is passed over."""
    context = multiprocessing.get_context("fork")
    start = seeds.start
    while start < seeds.stop:
        stop = min(start + chunk, seeds.stop)
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(range(start, stop), modes, sender))
        child.start()
        sender.close()
        reached = start
        try:
            while True:
                seed, found = receiver.recv()
                reached = seed + 1
                yield seed, found
        except EOFError:
            child.join()
        if reached < stop:
            yield reached, Report(reached, "none", f"process died: {child.exitcode}", [])
            reached += 1
        start = reached


def _child(seeds: range, modes: tuple[Mode, ...], sender: Any) -> None:
    for pair in findings(seeds, modes):
        sender.send(pair)
    sender.close()
    os._exit(0)  # PyTorch's threads are not worth waiting for


def run(
    seeds: range, modes: tuple[Mode, ...], path: Path | None, chunk: int, every: float = 10.0
) -> list[Report]:
    """Run a campaign, say how it goes, and keep what it finds in a file."""
    begin = last = time.monotonic()
    found: list[Report] = []
    for count, (seed, each) in enumerate(in_children(seeds, modes, chunk), 1):
        if each is not None:
            found.append(each)
            if path is not None:
                with path.open("a") as file:
                    file.write(f"# seed {seed}, {each.mode}: {each.words[:300]}\n")
                    file.write(f"{each.program!r}\n")
        now = time.monotonic()
        if now - last > every:
            last = now
            rate = count / (now - begin)
            print(
                f"{count} of {len(seeds)} programs, {rate:.1f}/s, {len(found)} findings", flush=True
            )
    return found
