"""PythonDispatcher against PyTorch's own: the same text for the same registrations.

All 2048 subsets of the 11 keys, and a sample of other orders and of several calls.
"""

import itertools
import random

import pytest
import torch._python_dispatcher as oracle

from thunk._python_dispatcher import PythonDispatcher

KEYS = PythonDispatcher().keys()


def outcome(dispatcher, registrations) -> tuple[object, str, str]:
    """Return what a user can observe: the refusal's type, then both texts."""
    refusal = None
    for keys in registrations:
        try:
            dispatcher.register(keys)
        except (RuntimeError, TypeError) as error:
            refusal = type(error)
    return refusal, dispatcher.registrations(), dispatcher.dispatchTable()


def compare(*registrations: object) -> object:
    # PyTorch's operator is global to the process: its dispatcher must die before the next is born.
    theirs = outcome(oracle.PythonDispatcher(), registrations)
    ours = outcome(PythonDispatcher(), registrations)
    assert ours == theirs, registrations
    return ours[0]


def test_the_keys_are_the_same() -> None:
    assert KEYS == oracle.PythonDispatcher().keys()


@pytest.mark.parametrize("size", range(len(KEYS) + 1))
def test_tables_of_subsets(size: int) -> None:
    for keys in itertools.combinations(KEYS, size):
        compare(list(keys))


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_order_of_registration_does_not_matter(size: int) -> None:
    for keys in random.Random(size).sample(list(itertools.combinations(KEYS, size)), 30):
        compare(list(keys[::-1]))
        compare(*([key] for key in keys))


@pytest.mark.parametrize(
    ("keys", "refusal"),
    [
        (["CPU", "CPU"], RuntimeError),
        (["XLA", "CompositeImplicitAutograd", "CompositeExplicitAutograd"], RuntimeError),
        (["Unknown"], RuntimeError),
        (["CPU", "Unknown", "XLA"], RuntimeError),
        (["Undefined"], RuntimeError),
        (["AutogradMeta"], RuntimeError),
        ("CPU", RuntimeError),
        ([1], RuntimeError),
        ([["CPU"]], TypeError),
        (5, TypeError),
        (None, TypeError),
        ((), None),
        (("CPU", "Lazy"), None),
        ({"CPU": 1}, None),
    ],
    ids=repr,
)
def test_refusals(keys: object, refusal: object) -> None:
    assert compare(keys) is refusal
    assert compare(["AutogradCPU"], keys) is refusal


def test_composites_in_two_calls_are_accepted_by_both() -> None:
    compare(["CompositeImplicitAutograd", "FPGA"], ["CompositeExplicitAutograd"])


def test_raw_text_names_the_same_kernels() -> None:
    """Raw texts list other keys and lines, but the keys that both know carry the same kernel."""
    keys = ["CPU", "FPGA", "AutogradLazy", "CompositeImplicitAutograd"]
    theirs, ours = oracle.PythonDispatcher(), PythonDispatcher()
    for dispatcher in (theirs, ours):
        dispatcher.register(keys)

    def kernels(text: str, field: int) -> dict[str, str]:
        pairs = (line.split(": ", 1) for line in text.splitlines() if ": " in line)
        return {key: value.split(" ")[field] for key, value in pairs}

    for raw in ("rawRegistrations", "rawDispatchTable"):
        our_text = getattr(ours, raw)()
        expected = kernels(getattr(theirs, raw)(), 0)
        found = kernels(our_text, 0)
        shared = found.keys() & expected.keys() - {"debug"}
        assert {key: found[key] for key in shared} == {key: expected[key] for key in shared}
        assert len(shared) > 4
        assert f"{__file__}:" in our_text
