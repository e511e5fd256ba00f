"""Enters: a seed. Leaves: a program; PyTorch runs it while it grows, so most statements succeed.

Invariant: the same seed and the same PyTorch make the same program.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable

from fuzz import grammar_gradients, grammar_outside, grammar_values, grammar_views
from fuzz.kinds import KINDS
from fuzz.program import Program
from fuzz.run import step
from fuzz.scene import NoCandidate, Scene

GRAMMARS = (grammar_values, grammar_views, grammar_gradients, grammar_outside)
REFUSED_KEPT = 0.25  # of the statements that PyTorch refuses; both must refuse them alike
MOST_TENSORS = 15
TOO_LARGE = 1e4


def generate(seed: int, shortest: int = 22, longest: int = 38) -> Program:
    """One program of some thirty statements."""
    scene = Scene(seed)
    length = scene.random.randint(shortest, longest)
    program: Program = []
    names = list(KINDS)
    weights = [KINDS[name].weight for name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("leaf", "leaf", "leaf", "binary"):
            _grow(scene, program, kind)
        while len(program) < length:
            kind = scene.random.choices(names, weights)[0]
            if len(scene.names("t")) > MOST_TENSORS:
                kind = "drop"
            _grow(scene, program, kind)
    return program


def _grow(scene: Scene, program: Program, kind: str) -> None:
    """Try one statement; keep it if it ran, and now and then if it did not."""
    try:
        source = KINDS[kind].write(scene)
    except NoCandidate:
        return
    before = set(scene.space)
    error = step(source, scene.space)
    if error:
        keep = scene.random.random() < REFUSED_KEPT
    else:
        keep = not _grew_large(scene, before) or scene.random.random() < 0.1
    if keep:
        program.append((kind, source))
        return
    for name in set(scene.space) - before:
        del scene.space[name]


def _grew_large(scene: Scene, before: set[str]) -> bool:
    """A new value too large to compare, or none at all."""
    for name in set(scene.space) - before:
        value = scene.space[name]
        if name[0] != "t" or not value.dtype.is_floating_point:
            continue
        if not bool((value.detach().abs() < TOO_LARGE).all()):
            return True
    return False


def shares(programs: Iterable[Program]) -> tuple[float, dict[str, float]]:
    """The median length, and the share of programs that have each kind of statement."""
    lengths: list[int] = []
    counts: Counter[str] = Counter()
    for program in programs:
        lengths.append(len(program))
        counts.update({kind for kind, _ in program})
    lengths.sort()
    total = max(len(lengths), 1)
    return lengths[total // 2], {kind: counts[kind] / total for kind in KINDS}
