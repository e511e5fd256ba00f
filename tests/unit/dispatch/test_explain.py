"""Dispatch in words: the texts name every row, the walk of a call, and what it raises."""

import pytest

from thunk.dispatch.explain import explain, matching_operators, table_text
from thunk.dispatch.kernel import FALLTHROUGH
from thunk.dispatch.keys import EMPTY, DispatchKey, KeySet
from thunk.dispatch.registry import OperatorRegistry

TENSOR_SCHEMA = "aten::add.Tensor(Tensor self, Tensor other) -> Tensor"
CPU_CALL = KeySet([DispatchKey.CPU, DispatchKey.AutogradCPU])
AUTOCAST = KeySet([DispatchKey.AutocastCPU])


def add_on_cpu(*args: object) -> None: ...


def record(*args: object) -> None: ...


@pytest.fixture
def operators() -> OperatorRegistry:
    made = OperatorRegistry()
    made.define("aten::add.Tensor", TENSOR_SCHEMA, where="add.py:1")
    made.define("aten::add.Scalar", "aten::add.Scalar(Tensor self, Scalar other) -> Tensor")
    made.define("user::add", "user::add(Tensor x) -> Tensor")
    made.register("aten::add.Tensor", DispatchKey.CPU, add_on_cpu, where="add.py:2")
    made.register_fallback(DispatchKey.AutogradCPU, record, where="record.py:3")
    made.register_fallback(DispatchKey.AutocastCPU, FALLTHROUGH, where="autocast.py:4")
    return made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten::add.Tensor", ["aten::add.Tensor"]),
        ("add.Scalar", ["aten::add.Scalar"]),
        ("aten::add", ["aten::add.Tensor", "aten::add.Scalar"]),
        ("add", ["aten::add.Tensor", "aten::add.Scalar", "user::add"]),
        ("user::add", ["user::add"]),
    ],
)
def test_names(operators: OperatorRegistry, name: str, expected: list[str]) -> None:
    assert [entry.name for entry in matching_operators(name, operators)] == expected


@pytest.mark.parametrize("name", ["ad", "aten::sub", "add.Tensor.x", ""])
def test_unknown_names_are_refused(operators: OperatorRegistry, name: str) -> None:
    with pytest.raises(RuntimeError, match="none of the 3 defined operators"):
        table_text(name, operators)


def test_table_text(operators: OperatorRegistry) -> None:
    lines = table_text("aten::add.Tensor", operators).splitlines()
    assert lines[:2] == [TENSOR_SCHEMA, "  defined at add.py:1"]
    assert [line.split() for line in lines[2:4]] == [
        ["key", "kernel", "registered", "at", "why"],
        ["CPU", "add_on_cpu", "add.py:2", "kernel", "registered", "to", "CPU"],
    ]
    assert lines[4].split()[:3] == ["AutogradCPU", "record", "record.py:3"]
    assert lines[5].endswith("falls through to the next key")
    assert lines[6].startswith("  missing, so a call raises: Undefined, XLA, Lazy,")
    assert len(lines) == 7


def test_every_row_is_told(operators: OperatorRegistry) -> None:
    operators.register("user::add", DispatchKey.FPGA, add_on_cpu)
    operators.register("user::add", DispatchKey.CompositeImplicitAutograd, add_on_cpu)
    text = table_text("user::add", operators)
    words = text.replace(",", " ").split()
    for row in operators.entry("user::add").rows():
        assert row.key.name in words
        assert row.is_missing or row.reason in text
    assert "(ambiguous)" in text


def test_explain_a_call(operators: OperatorRegistry) -> None:
    reason = "because the operator has no kernel for it"
    assert explain("aten::add.Tensor", CPU_CALL, AUTOCAST, EMPTY, operators).splitlines() == [
        TENSOR_SCHEMA,
        "  arguments carry: AutogradCPU, CPU",
        "  modes include:   AutocastCPU",
        "  modes exclude:   (none)",
        "  the call meets:  AutocastCPU, AutogradCPU, CPU",
        f"    AutocastCPU: backend fallback of AutocastCPU, {reason}:"
        " falls through to the next key",
        f"    AutogradCPU: backend fallback of AutogradCPU, {reason}",
        "    -> runs record (backend fallback, boxed), from record.py:3",
        "  if that kernel calls on with CPU:",
        "    CPU: kernel registered to CPU",
        "    -> runs add_on_cpu (kernel), from add.py:2",
    ]


def test_excluded_keys_are_not_met(operators: OperatorRegistry) -> None:
    excluded = AUTOCAST | DispatchKey.AutogradCPU
    text = explain("aten::add.Tensor", CPU_CALL, AUTOCAST, excluded, operators)
    assert "  the call meets:  CPU\n    CPU: kernel registered to CPU\n    -> runs" in text
    assert "calls on" not in text


def test_a_call_that_fails_is_told(operators: OperatorRegistry) -> None:
    text = explain("aten::add.Scalar", KeySet([DispatchKey.CPU]), EMPTY, EMPTY, operators)
    assert text.endswith("-> raises NotImplementedError: no kernel serves the key\n")
    text = explain("aten::add.Scalar", EMPTY, AUTOCAST, EMPTY, operators)
    assert "    Undefined: missing" in text
    operators.register("user::add", DispatchKey.FPGA, add_on_cpu)
    operators.register("user::add", DispatchKey.CompositeImplicitAutograd, add_on_cpu)
    keys = KeySet([DispatchKey.FPGA, DispatchKey.AutogradOther])
    text = explain("user::add", keys, EMPTY, EMPTY, operators)
    assert text.endswith("-> raises RuntimeError: two kernels claim the key\n")


def test_what_is_explained_is_what_runs(operators: OperatorRegistry) -> None:
    entry = operators.entry("aten::add.Tensor")
    for keys in (CPU_CALL, AUTOCAST, CPU_CALL | AUTOCAST, KeySet([DispatchKey.CPU])):
        text = explain("aten::add.Tensor", keys, EMPTY, EMPTY, operators)
        row = entry.resolve(keys)
        first_verdict = next(line for line in text.splitlines() if "    -> " in line)
        assert ("raises" in first_verdict) == row.is_missing
        assert row.is_missing or row.kernel.where in first_verdict
