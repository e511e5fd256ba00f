"""Whole programs of some thirty statements do in Thunk what they do in PyTorch.

Values, gradients, flags, strides, versions, shared memory and error types are compared. By hand,
for longer: python tests/support/fuzz --count 20000 --seed 1
"""

from __future__ import annotations

import pytest

from fuzz import planted
from fuzz.campaign import report
from fuzz.generate import generate, shares
from fuzz.judge import EAGER, LAZY, Mode, judge
from fuzz.planted_kinds import Fault
from fuzz.planted_lazy import FAULTS_OF_LAZY
from fuzz.program import Program, listing
from fuzz.shrink import shrink

FIRST = 1_000_000
COUNT = 300
MODES = (EAGER,)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("modes", [MODES, LAZY], ids=["eager", "lazy"])
def test_programs_agree(modes: tuple[Mode, ...], part: int) -> None:
    """Eagerly; and lazily, with and without barriers, on a trie that all of them share."""
    for seed in range(FIRST + part, FIRST + COUNT, 4):
        found = judge(generate(seed), modes)
        if found is not None:
            told = report(seed, found)
            pytest.fail(
                f"seed {seed}, {told.mode}: {told.words}\n{listing(told.program)}\n"
                f"python tests/support/fuzz --modes '{told.mode}' --replay {str(told.program)!r}"
            )


def test_every_kind_of_statement_occurs_in_a_tenth_of_the_programs() -> None:
    median, found = shares(generate(seed) for seed in range(FIRST, FIRST + COUNT))
    assert median >= 30
    assert {kind: share for kind, share in found.items() if share < 0.1} == {}


def test_a_seed_makes_one_program() -> None:
    assert generate(7) == generate(7) != generate(8)


QUICK = ("gradient accumulated twice", "write not counted", "detach copies", "create_graph ignored",
         "array copied instead of shared", "hooks after accumulation skipped")  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_a_planted_fault_is_found(name: str) -> None:
    """All of them, within 2,000 programs each: python tests/support/fuzz --planted --count 2000"""
    fault = next(each for each in planted.FAULTS if each.name == name)
    assert 0 < planted.find(fault, FIRST, 100)


QUICK_LAZY = (
    "aliases not derived again",
    "writes do not reach foreign memory",
    "pending write not counted",
    "foreign memory not copied for pending reads",
    "flag of a pending tensor not seen",
)


@pytest.mark.parametrize("name", QUICK_LAZY)
def test_a_fault_planted_in_lazy_execution_is_found(name: str) -> None:
    fault = next(each for each in FAULTS_OF_LAZY if each.name == name)
    assert 0 < planted.find(fault, 5000, 80)


@pytest.mark.parametrize("fault", (*planted.FAULTS, *FAULTS_OF_LAZY), ids=lambda fault: fault.name)
def test_every_fault_can_be_planted_and_taken_out(fault: Fault) -> None:
    with planted.plant(fault):
        pass
    assert judge(generate(FIRST), MODES) is None


def test_a_fault_without_a_place_is_an_error() -> None:
    gone = Fault("gone", MODES, (("thunk.autograd.edges.gone", lambda original: None),))
    with pytest.raises(LookupError, match=r"thunk\.autograd\.edges\.gone"), planted.plant(gone):
        pass


def test_shrinking_leaves_what_the_failure_needs() -> None:
    program: Program = [("leaf", f"t{i} = {i}") for i in range(20)]

    def fails(candidate: Program) -> bool:
        return {("leaf", "t3 = 3"), ("leaf", "t17 = 17")} <= set(candidate)

    assert shrink(program, fails) == [("leaf", "t3 = 3"), ("leaf", "t17 = 17")]


def test_a_wrong_value_is_found() -> None:
    program = [("leaf", "t0 = torch.tensor([1.5])"), ("unary", "t1 = t0 * torch.ones(1)")]
    assert judge(program, MODES) is None
    lie = ("unary", "t1 = t0 * (2.0 if 'thunk' in torch.__name__ else 1.0)")
    found = judge([program[0], lie], (Mode("eager", lazy=False, every=True),))
    assert found is not None and found.place == 1 and found.words.startswith("t1.values")
