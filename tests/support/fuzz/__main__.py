"""Random programs by hand: python tests/support/fuzz --count 20000 --seed 1

Prints how it goes, writes findings to a file, and ends with status 1 if there were any. One
program again: --replay 'a list of (kind, source)'; the shares of statement kinds: --shares.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in (HERE.parents[2] / "src", HERE.parent):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

from fuzz import campaign, planted  # noqa: E402  (the path comes first)
from fuzz.generate import generate, shares  # noqa: E402
from fuzz.judge import COLD, COMPILED, EAGER, LAZY, MODES, judge  # noqa: E402
from fuzz.program import listing  # noqa: E402
from fuzz.script import script  # noqa: E402


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description="Random programs beside PyTorch.")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first program")
    parser.add_argument("--modes", default="all", help="all, compiled, or names joined by ;")
    parser.add_argument("--chunk", type=int, default=1000, help="programs that share a process")
    parser.add_argument("--file", type=Path, default=Path("findings.txt"))
    parser.add_argument("--scripts", type=Path, help="a folder for findings as scripts")
    parser.add_argument("--replay", help="run one program, a list of (kind, source)")
    parser.add_argument("--show", action="store_true", help="print the program of --seed")
    parser.add_argument("--shares", action="store_true", help="print how often each kind occurs")
    parser.add_argument("--planted", action="store_true", help="look for each planted fault")
    return parser.parse_args()


def chosen_modes(text: str) -> tuple[object, ...]:
    if text == "all":
        return (EAGER, *LAZY, *COLD)
    if text == "compiled":
        return COMPILED
    return tuple(MODES[name] for name in text.split(";"))


def main() -> int:
    given = arguments()
    modes = chosen_modes(given.modes)
    if given.show:
        print(listing(generate(given.seed)))
        return 0
    if given.shares:
        median, found = shares(generate(given.seed + i) for i in range(given.count))
        print(f"median length {median}")
        for kind, share in sorted(found.items(), key=lambda pair: pair[1]):
            print(f"{share:6.1%} {kind}")
        return 0
    if given.planted:
        return planted.main(given.seed, given.count)
    if given.replay:
        finding = judge(ast.literal_eval(given.replay), modes)  # type: ignore[arg-type]
        print("agrees" if finding is None else f"{finding.mode.name}: {finding.words}")
        return 0 if finding is None else 1
    return search(given, modes)


def search(given: argparse.Namespace, modes: tuple[object, ...]) -> int:
    begin = time.monotonic()
    seeds = range(given.seed, given.seed + given.count)
    found = campaign.run(seeds, modes, given.file, given.chunk)  # type: ignore[arg-type]
    for each in found:
        print(f"\nseed {each.seed}, {each.mode}: {each.words[:500]}\n{listing(each.program)}")
        print(f"python tests/support/fuzz --modes '{each.mode}' --replay {str(each.program)!r}")
        if given.scripts and each.program:
            given.scripts.mkdir(parents=True, exist_ok=True)
            path = given.scripts / f"seed_{each.seed}.py"
            path.write_text(script(each.seed, each.mode, each.words, each.program))
    seconds = time.monotonic() - begin
    print(f"{given.count} programs, {len(found)} findings, {given.count / seconds:.1f}/s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
