"""Switches of lazy execution: their equivalents, and operators that are forced to fall back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

from graphs import Recorder, agree, cpu
from thunk.base.config import config
from thunk.dispatch.forced import is_fallback_forced
from thunk.dispatch.registry import registry
from thunk.lazy import metrics
from thunk.lazy.config import (
    EQUIVALENTS,
    get_flag,
    get_force_fallback,
    get_reuse_ir,
    set_flag,
    set_force_fallback,
    set_reuse_ir,
)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    with config.override():
        before = {name: getattr(config, name) for name in set(EQUIVALENTS.values())}
        yield
        for name, value in before.items():
            setattr(config, name, value)


def test_a_forced_fallback_is_what_was_set() -> None:
    assert get_force_fallback() == ""
    set_force_fallback("aten::sub")
    assert get_force_fallback() == config.lazy_force_fallback == "aten::sub"
    assert is_fallback_forced("aten::sub.Tensor") and is_fallback_forced("aten::sub")
    assert not is_fallback_forced("aten::subtract.Tensor")
    set_force_fallback(" aten::add.Tensor , aten::mul")
    assert is_fallback_forced("aten::add.Tensor") and not is_fallback_forced("aten::add.Scalar")
    assert is_fallback_forced("aten::mul.Tensor") and not is_fallback_forced("aten::sub.Tensor")
    set_force_fallback("")
    assert not is_fallback_forced("aten::mul.Tensor")


def test_forcing_a_fallback_makes_decisions_anew() -> None:
    before = registry.version
    set_force_fallback("aten::sub")
    assert registry.version > before
    before = registry.version
    set_force_fallback("aten::sub")  # nothing changed
    assert registry.version == before


def test_a_forced_operator_runs_by_its_reference_rule_and_is_counted() -> None:
    recorder = Recorder()
    x = recorder.input(numpy.arange(6, dtype="f4"))
    y = recorder.input(numpy.ones(6, "f4"))
    recorder.outputs(recorder.call("mul.Tensor", recorder.call("sub.Tensor", x, y), y))
    assert len(agree(recorder).backs) == 0
    set_force_fallback("aten::sub")
    before = cpu.fallbacks.get("aten::sub.Tensor", 0)
    metrics.reset()
    program = agree(recorder)
    assert [back.node.op.full_name for back in program.backs.values()] == ["aten::sub.Tensor"]
    assert cpu.fallbacks["aten::sub.Tensor"] == before + 1
    assert metrics.counter_value("aten::sub.Tensor") == 1  # once a run
    program.run(recorder.arrays, [])
    assert metrics.counter_value("aten::sub.Tensor") == 2
    metrics.reset()


def test_reuse_can_be_turned_off() -> None:
    assert get_reuse_ir()
    set_reuse_ir(False)
    assert not get_reuse_ir() and not config.lazy_reuse_ir
    set_reuse_ir(True)
    with pytest.raises(TypeError, match="expected bool"):
        set_reuse_ir(1)  # type: ignore[arg-type]


def test_flags_are_known_by_pytorchs_names() -> None:
    options = type(config).options()
    assert set(EQUIVALENTS.values()) <= set(options)
    set_flag("FLAGS_torch_lazy_compilation_cache_size", 7)
    assert get_flag("torch_lazy_compilation_cache_size") == 7
    assert config.lazy_compilation_cache_size == 7
    set_flag("LTC_FORCE_FALLBACK", "aten::add")
    assert is_fallback_forced("aten::add.Tensor")
    with pytest.raises(KeyError, match="expected a switch that has an equivalent"):
        get_flag("torch_lazy_unknown")
