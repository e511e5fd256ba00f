"""The computed table against a direct statement of the precedence rules, and its upkeep."""

import itertools
import random
import threading

import pytest

from thunk.dispatch.kernel import FALLTHROUGH, Kernel, KernelKind, definition_of
from thunk.dispatch.keys import DispatchKey, KeySet, parse_key, runtime_keys
from thunk.dispatch.table import OperatorEntry, Rule, affected_keys

ELEVEN = [
    *("CPU", "XLA", "Lazy", "FPGA"),
    *("AutogradOther", "AutogradCPU", "AutogradXLA", "AutogradLazy"),
    *("CompositeExplicitAutograd", "Autograd", "CompositeImplicitAutograd"),
]
BACKEND_PAIRS = {
    "CPU": "AutogradCPU",
    "XLA": "AutogradXLA",
    "Lazy": "AutogradLazy",
    "FPGA": "AutogradOther",
    "Meta": "AutogradMeta",
    "PrivateUse1": "AutogradPrivateUse1",
}
NON_FUNCTIONAL = "CompositeExplicitAutogradNonFunctional"
EXPLICIT, IMPLICIT = "CompositeExplicitAutograd", "CompositeImplicitAutograd"


def first_of(registered: set[str], *candidates: str) -> str:
    return next((key for key in candidates if key in registered), "missing")


def documented_answer(key: str, registered: set[str], fallbacks: set[str]) -> str:
    """Say which registration serves a key: one branch per kind of key, as the rules are taught.

    Answers are the name of the key registered to, "fallback", "ambiguous" or "missing".
    """
    if key == "Undefined":
        return first_of(registered, NON_FUNCTIONAL, EXPLICIT, IMPLICIT)
    if key in BACKEND_PAIRS:
        if key in ("XLA", "Lazy"):
            answer = first_of(registered, key, EXPLICIT, IMPLICIT)
        else:
            answer = first_of(registered, key, NON_FUNCTIONAL, EXPLICIT, IMPLICIT)
    elif key in BACKEND_PAIRS.values():
        backend = next(name for name, autograd in BACKEND_PAIRS.items() if autograd == key)
        if key not in registered and key == "AutogradOther" and {"FPGA", IMPLICIT} <= registered:
            return "ambiguous"
        if {backend, EXPLICIT} & registered:
            answer = first_of(registered, key, "Autograd")
        else:
            answer = first_of(registered, key, IMPLICIT, "Autograd")
    else:
        answer = first_of(registered, key)
    return "fallback" if answer == "missing" and key in fallbacks else answer


def kernel_named(name: str) -> Kernel:
    def function(x: object) -> str:
        return name

    return Kernel(function, where=f"{name}.py:1")


FALLBACKS = {
    parse_key(name): kernel_named("fallback")
    for name in ["BackendSelect", *BACKEND_PAIRS.values()]
    if name != "AutogradMeta"
}
RULE_OF_ALIAS = {
    NON_FUNCTIONAL: Rule.EXPLICIT_COMPOSITE,
    EXPLICIT: Rule.EXPLICIT_COMPOSITE,
    IMPLICIT: Rule.IMPLICIT_COMPOSITE,
    "Autograd": Rule.AUTOGRAD_ALIAS,
    "fallback": Rule.FALLBACK,
    "ambiguous": Rule.AMBIGUOUS,
    "missing": Rule.MISSING,
}


def check_table(entry: OperatorEntry, registered: set[str], fallbacks: set[str]) -> None:
    for row in entry.rows():
        expected = documented_answer(row.key.name, registered, fallbacks)
        assert row.rule is RULE_OF_ALIAS.get(expected, Rule.DIRECT), (row, registered)
        if expected in ("missing", "ambiguous"):
            assert row.source_key is None
            assert row.kernel.kind.value == expected
            continue
        assert row.function(None) == expected, (row, registered)
        assert row.source_key is not None
        assert row.source_key.name == (row.key.name if expected == "fallback" else expected)
        assert row.source_key.name in row.reason


def entry_with(names: list[str] | tuple[str, ...], fallbacks: bool = True) -> OperatorEntry:
    entry = OperatorEntry("test::foo", fallbacks=FALLBACKS if fallbacks else {})
    for name in names:
        entry.add(parse_key(name), kernel_named(name))
    return entry


@pytest.mark.parametrize("size", range(5))
def test_every_subset_follows_the_rules(size: int) -> None:
    names = [*ELEVEN, NON_FUNCTIONAL, "Meta", "BackendSelect"]
    for chosen in itertools.combinations(names, size):
        check_table(entry_with(chosen), set(chosen), {key.name for key in FALLBACKS})
        check_table(entry_with(chosen, fallbacks=False), set(chosen), set())


def test_registrations_commute() -> None:
    for chosen in random.Random(0).sample(list(itertools.combinations(ELEVEN, 4)), 20):
        tables = {
            tuple((row.rule, row.source_key, row.reason) for row in entry_with(order).rows())
            for order in itertools.permutations(chosen)
        }
        assert len(tables) == 1


def test_incremental_upkeep_equals_a_fresh_computation() -> None:
    """Rows are looked up between changes, so a row that should have been forgotten would show."""
    draw = random.Random(1)
    names = [*ELEVEN, NON_FUNCTIONAL, "Meta", "PrivateUse1", "Python"]
    for _ in range(20):
        entry = entry_with([])
        present: list[tuple[str, Kernel]] = []
        for _ in range(60):
            if present and draw.random() < 0.45:
                name, kernel = present.pop(draw.randrange(len(present)))
                entry.remove(parse_key(name), kernel)
            else:
                name = draw.choice(names)
                kernel = kernel_named(name)
                present.append((name, kernel))
                entry.add(parse_key(name), kernel)
            registered = {name for name, _ in present}
            check_table(entry, registered, {key.name for key in FALLBACKS})


def test_only_rows_that_can_change_are_forgotten() -> None:
    entry = entry_with(["CompositeImplicitAutograd", "Python"])
    before = entry.rows()
    entry.add(DispatchKey.CPU, kernel_named("CPU"))
    kept = [new is old for new, old in zip(entry.rows(), before, strict=True)]
    lost = {key.name for key, same in zip(runtime_keys(), kept, strict=True) if not same}
    assert lost == {"Undefined", "CPU", "AutogradCPU"}
    assert DispatchKey.AutogradLazy in affected_keys(DispatchKey.CompositeExplicitAutograd)


def test_the_newest_kernel_serves_and_removal_restores_the_older() -> None:
    entry = entry_with([])
    kernels = [kernel_named(str(number)) for number in range(3)]
    for kernel in kernels:
        entry.add(DispatchKey.CPU, kernel)
        assert entry.row(DispatchKey.CPU).kernel is kernel
    assert entry.kernels(DispatchKey.CPU) == tuple(reversed(kernels))
    entry.remove(DispatchKey.CPU, kernels[1])
    assert entry.row(DispatchKey.CPU).kernel is kernels[2]
    entry.remove(DispatchKey.CPU, kernels[2])
    assert entry.row(DispatchKey.CPU).kernel is kernels[0]
    entry.remove(DispatchKey.CPU, kernels[0])
    assert entry.row(DispatchKey.CPU).is_missing
    assert entry.registered_keys() == ()
    with pytest.raises(RuntimeError, match="removed once"):
        entry.remove(DispatchKey.CPU, kernels[0])


def test_undefined_registers_for_every_key() -> None:
    entry = entry_with([])
    kernel = kernel_named("all")
    entry.add(DispatchKey.Undefined, kernel)
    assert entry.registered_keys() == (DispatchKey.CompositeImplicitAutograd,)
    entry.remove(DispatchKey.Undefined, kernel)
    assert entry.registered_keys() == ()


CALL = KeySet([DispatchKey.CPU, DispatchKey.AutogradCPU, DispatchKey.AutocastCPU])


def test_a_call_walks_past_fallthrough() -> None:
    entry = entry_with(["CPU"], fallbacks=False)
    entry.add(DispatchKey.AutocastCPU, Kernel(FALLTHROUGH))
    entry.add(DispatchKey.AutogradCPU, Kernel(FALLTHROUGH))
    assert [row.key.name for row in entry.walk(CALL)] == ["AutocastCPU", "AutogradCPU", "CPU"]
    assert entry.resolve(CALL).key is DispatchKey.CPU
    assert entry.resolve(CALL) is entry.resolve(CALL)
    newer = kernel_named("AutogradCPU")
    entry.add(DispatchKey.AutogradCPU, newer)
    assert entry.resolve(CALL).kernel is newer
    entry.remove(DispatchKey.AutogradCPU, newer)
    assert entry.resolve(CALL).key is DispatchKey.CPU


def test_a_call_that_falls_through_everything_is_undefined() -> None:
    entry = entry_with([], fallbacks=False)
    for key in CALL:
        entry.add(key, Kernel(FALLTHROUGH))
    row = entry.resolve(CALL)
    assert row.key is DispatchKey.Undefined
    with pytest.raises(NotImplementedError, match="expected a tensor argument"):
        row.function()


def test_fallthrough_says_so() -> None:
    entry = entry_with(["CPU"])
    entry.add(DispatchKey.Autograd, Kernel(FALLTHROUGH))
    row = entry.row(DispatchKey.AutogradXLA)
    assert row.is_fallthrough
    assert row.rule is Rule.AUTOGRAD_ALIAS
    assert row.reason.endswith("falls through to the next key")
    with pytest.raises(NotImplementedError, match="fallthrough_kernel"):
        FALLTHROUGH()


def test_missing_and_ambiguous_rows_raise_when_called() -> None:
    entry = entry_with(["FPGA", "CompositeImplicitAutograd"], fallbacks=False)
    with pytest.raises(RuntimeError, match=r"test::foo: expected one kernel for AutogradOther"):
        entry.row(DispatchKey.AutogradOther).function(1, x=2)
    with pytest.raises(NotImplementedError, match="kernel for the Python dispatch key, got none"):
        entry.row(DispatchKey.Python).function()
    # The message tells what is there when the call fails, not when the row was computed.
    row = entry.row(DispatchKey.AutocastCPU)
    entry.add(DispatchKey.Lazy, kernel_named("Lazy"))
    with pytest.raises(NotImplementedError, match="kernels: Lazy, FPGA, Composite"):
        row.function()


def test_a_kernel_knows_where_it_comes_from() -> None:
    def function() -> None: ...

    line = function.__code__.co_firstlineno
    assert Kernel(function).where == f"{__file__}:{line}" == definition_of(function)
    assert Kernel(function, "user.py:3").where == "user.py:3"
    assert Kernel(len).where == "module builtins"
    assert Kernel(len).name == "len"
    assert Kernel(function).kind is KernelKind.KERNEL
    assert Kernel(FALLTHROUGH).kind is KernelKind.FALLTHROUGH


def test_readers_on_other_threads_never_leave_a_stale_row() -> None:
    entry = entry_with(["CompositeImplicitAutograd"])
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            entry.resolve(CALL)
            entry.row(DispatchKey.CPU)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(300):
            kernel = kernel_named("CPU")
            entry.add(DispatchKey.CPU, kernel)
            assert entry.row(DispatchKey.CPU).kernel is kernel
            assert entry.row(DispatchKey.AutogradCPU).rule is Rule.FALLBACK
            entry.remove(DispatchKey.CPU, kernel)
            assert entry.row(DispatchKey.CPU).rule is Rule.IMPLICIT_COMPOSITE
            assert entry.row(DispatchKey.AutogradCPU).rule is Rule.IMPLICIT_COMPOSITE
    finally:
        stop.set()
        for reader in readers:
            reader.join()
