"""The operator registry: registrations commute and reverse, and every change shows."""

import itertools
from collections.abc import Callable

import pytest

from thunk.dispatch.kernel import FALLTHROUGH
from thunk.dispatch.keys import DispatchKey
from thunk.dispatch.registry import (
    OperatorRegistry,
    RegistrationHandle,
    location_of_caller,
    registry,
)
from thunk.dispatch.table import Rule

NAME = "test::foo"
SCHEMA = "test::foo(Tensor x) -> Tensor"


def kernel(x: object) -> object:
    return x


def fallback(x: object) -> object:
    return x


CHANGES: dict[str, Callable[[OperatorRegistry], RegistrationHandle]] = {
    "definition": lambda operators: operators.define(NAME, SCHEMA, where="a.py:1"),
    "backend": lambda operators: operators.register(NAME, DispatchKey.CPU, kernel),
    "alias": lambda operators: operators.register(NAME, DispatchKey.Autograd, kernel),
    "fallback": lambda operators: operators.register_fallback(DispatchKey.Python, fallback),
}


def snapshot(operators: OperatorRegistry) -> tuple[object, ...]:
    entry = operators.entry(NAME)
    rows = tuple((row.key, row.rule, row.source_key, row.reason) for row in entry.rows())
    return entry.schema_text, entry.where, operators.names(), rows


@pytest.mark.parametrize("looked_up_between", [False, True])
def test_changes_commute_and_reverse(looked_up_between: bool) -> None:
    seen = set()
    for order in itertools.permutations(CHANGES):
        operators = OperatorRegistry()
        empty = snapshot(operators)
        handles = []
        for name in order:
            handles.append(CHANGES[name](operators))
            if looked_up_between:
                snapshot(operators)
        seen.add(snapshot(operators))
        for handle in handles:
            handle.remove()
            if looked_up_between:
                snapshot(operators)
        assert snapshot(operators) == empty
    assert len(seen) == 1


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_bumps_the_version(name: str) -> None:
    operators = OperatorRegistry()
    versions = [operators.version]
    handle = CHANGES[name](operators)
    versions.append(operators.version)
    handle.remove()
    versions.append(operators.version)
    operators.bump()
    versions.append(operators.version)
    assert versions == sorted(set(versions))
    assert not handle.active
    handle.remove()
    assert operators.version == versions[-1]


def test_looking_up_does_not_bump_the_version() -> None:
    operators = OperatorRegistry()
    operators.define(NAME, SCHEMA)
    version = operators.version
    operators.lookup(NAME, DispatchKey.CPU)
    operators.entry("test::other")
    assert operators.version == version
    assert operators.names() == (NAME,)


def test_a_with_block_takes_a_registration_back() -> None:
    operators = OperatorRegistry()
    with operators.register(NAME, DispatchKey.CPU, kernel) as handle:
        assert handle.active
        assert operators.lookup(NAME, DispatchKey.CPU).function is kernel
    assert operators.lookup(NAME, DispatchKey.CPU).is_missing


def test_a_second_definition_is_refused() -> None:
    operators = OperatorRegistry()
    first = operators.define(NAME, SCHEMA, where="a.py:1")
    version = operators.version
    with pytest.raises(RuntimeError, match=r"got a second at b\.py:2; the first.*a\.py:1"):
        operators.define(NAME, SCHEMA, where="b.py:2")
    assert operators.version == version
    first.remove()
    operators.define(NAME, SCHEMA, where="b.py:2")


def test_a_second_fallback_is_refused() -> None:
    operators = OperatorRegistry()
    first = operators.register_fallback(DispatchKey.Python, fallback)
    with pytest.raises(RuntimeError, match="no fallback for Python yet"):
        operators.register_fallback(DispatchKey.Python, FALLTHROUGH)
    kept = operators.fallback(DispatchKey.Python)
    assert kept is not None and kept.function is fallback
    first.remove()
    operators.register_fallback(DispatchKey.Python, FALLTHROUGH)


@pytest.mark.parametrize("key", [DispatchKey.Autograd, DispatchKey.Undefined])
def test_a_fallback_needs_a_runtime_key(key: DispatchKey) -> None:
    with pytest.raises(RuntimeError, match="expected a runtime key"):
        OperatorRegistry().register_fallback(key, fallback)


def test_a_fallback_reaches_operators_old_and_new() -> None:
    operators = OperatorRegistry()
    assert operators.entry("test::old").row(DispatchKey.Python).is_missing
    handle = operators.register_fallback(DispatchKey.Python, fallback, where="f.py:1")
    for name in ("test::old", "test::new"):
        row = operators.entry(name).row(DispatchKey.Python)
        assert row.rule is Rule.FALLBACK
        assert row.kernel.where == "f.py:1"
        assert row.kernel.boxed
    handle.remove()
    for name in ("test::old", "test::new"):
        assert operators.entry(name).row(DispatchKey.Python).is_missing
    assert operators.fallback(DispatchKey.Python) is None


def test_an_unknown_operator_is_an_error_at_lookup() -> None:
    operators = OperatorRegistry()
    with pytest.raises(RuntimeError, match=r"test::foo: expected a registered operator"):
        operators.lookup(NAME, DispatchKey.CPU)
    assert operators.find(NAME) is None


def test_there_is_one_registry_of_the_process() -> None:
    assert isinstance(registry, OperatorRegistry)


def test_location_of_caller() -> None:
    def ask(depth: int) -> str:
        return location_of_caller(depth)

    code = test_location_of_caller.__code__
    path, line = ask(1).rsplit(":", 1)
    assert path == code.co_filename
    assert int(line) == code.co_firstlineno + 5
    assert ask(0).endswith(f":{ask.__code__.co_firstlineno + 1}")


def test_registering_computes_no_rows() -> None:
    """Thousands of registrations happen at import: they must not pay for tables."""
    operators = OperatorRegistry()
    for number in range(50):
        operators.define(f"test::op{number}", SCHEMA)
        operators.register(f"test::op{number}", DispatchKey.CPU, kernel)
    assert all(row is None for row in operators.entry("test::op7")._rows)
    operators.lookup("test::op7", DispatchKey.CPU)
    assert [row is not None for row in operators.entry("test::op7")._rows].count(True) == 1
    assert all(row is None for row in operators.entry("test::op8")._rows)
