"""The update operators: what a program may depend on, and two ways to the same numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import thunk
from thunk.base.config import config
from thunk.dispatch.state import state
from thunk.ir.opdef import NoGradient, OpDef
from thunk.ops.update.rule import formulas

OPS = list(formulas)


def operands(op: OpDef, dtype: Any, seed: int) -> dict[str, Any]:
    """Random tensors (squares positive) and numbers for every argument."""
    generator = numpy.random.default_rng(seed)
    found: dict[str, Any] = {}
    for argument in op.schema.arguments:
        if argument.type.base == "Tensor":
            array = generator.standard_normal((5, 7))
            if argument.name not in ("param", "grad", "prev"):
                array = numpy.abs(array) + 0.1
            if argument.name == "grad_avg":
                array = array * 0.01
            found[argument.name] = thunk.from_numpy(array).to(dtype)
        elif argument.type.base == "bool":
            found[argument.name] = bool(generator.integers(2))
        elif argument.type.optional and generator.integers(2):
            found[argument.name] = None
        else:
            found[argument.name] = float(generator.uniform(0.1, 0.9))
    return found


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.full_name)
def test_every_number_is_an_input_of_the_program(op: OpDef) -> None:
    """Else each new learning rate would be a new program."""
    for argument in op.schema.arguments:
        kind = argument.type.base
        assert kind in ("Tensor", "Scalar", "bool")
        assert (argument.name in op.runtime_scalars) == (kind == "Scalar")


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.full_name)
def test_results_replace_the_parameter_and_every_state(op: OpDef) -> None:
    tensors = [each.name for each in op.schema.arguments if each.type.base == "Tensor"]
    assert len(op.schema.returns) == len(tensors) - 1
    assert isinstance(op.gradient, NoGradient)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.full_name)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_rule_and_the_decomposition_agree(op: OpDef, dtype: str) -> None:
    for seed in range(6):
        given = operands(op, getattr(thunk, dtype), seed)
        direct = getattr(thunk.ops.aten, op.name)
        direct = getattr(direct, op.schema.overload or "default")(**given)
        assert op.decompose is not None
        parts = op.decompose(*given.values())
        direct, parts = (each if isinstance(each, tuple) else (each,) for each in (direct, parts))
        for one, other in zip(direct, parts, strict=True):
            assert one.dtype is other.dtype
            limit = 1e-6 if dtype == "float32" else 1e-14
            numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=limit, atol=limit)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.full_name)
def test_half_precision_keeps_its_dtype(op: OpDef) -> None:
    given = operands(op, thunk.bfloat16, 3)
    wide = {
        name: value.float() if isinstance(value, thunk.Tensor) else value
        for name, value in given.items()
    }
    packet = getattr(getattr(thunk.ops.aten, op.name), op.schema.overload or "default")
    results, wanted = packet(**given), packet(**wide)
    if not isinstance(results, tuple):
        results, wanted = (results,), (wanted,)
    for result, want in zip(results, wanted, strict=True):
        assert result.dtype is thunk.bfloat16
        assert thunk.equal(result, want.bfloat16())


def test_wrong_shapes_and_dtypes_are_named() -> None:
    update = thunk.ops.aten._sgd_update.default
    numbers = {
        "lr": 0.1, "momentum": 0.0, "gain": 1.0, "weight_decay": None, "nesterov": False,
        "maximize": False,
    }  # fmt: skip
    with pytest.raises(RuntimeError, match=r"_sgd_update: expected .* shape \(2,\), got \(3,\)"):
        update(thunk.ones(2), thunk.ones(3), **numbers)
    with pytest.raises(RuntimeError, match="floating point"):
        update(thunk.ones(2, dtype=thunk.complex64), thunk.ones(2), **numbers)


def test_states_lie_in_memory_as_their_parameters_do() -> None:
    param = thunk.ones(3, 4).t().requires_grad_()
    (param * 2).sum().backward()
    optimizer = thunk.optim.Adam([param])
    optimizer.step()
    assert optimizer.state[param]["exp_avg"].stride() == param.stride() == (1, 4)


def train(lazy: bool, name: str, options: dict[str, Any], rows: int = 8) -> list[Any]:
    """Weights after each step of a small regression; the rate changes every step."""
    before = state.lazy
    state.lazy = lazy
    try:
        thunk.manual_seed(3)
        weight = thunk.randn(3, 2, requires_grad=True)
        bias = thunk.zeros(2, requires_grad=True)
        inputs, targets = thunk.randn(rows, 3), thunk.randn(rows, 2)
        optimizer = getattr(thunk.optim, name)([weight, bias], **options)
        schedule = thunk.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        seen = []
        for _ in range(7):
            optimizer.zero_grad()
            ((inputs @ weight + bias - targets) ** 2).mean().backward()
            optimizer.step()
            schedule.step()
            seen.append([*weight.tolist(), bias.tolist()])
        return seen
    finally:
        state.lazy = before


LAZY = {
    "SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"amsgrad": True}, "AdamW": {}, "Adamax": {},
    "NAdam": {}, "RAdam": {}, "Adagrad": {}, "Adadelta": {}, "RMSprop": {"centered": True},
    "Rprop": {}, "ASGD": {}, "Muon": {}, "Adafactor": {},
}  # fmt: skip


@pytest.mark.parametrize("name", [each for each in LAZY if each != "Muon"])
def test_lazy_steps_have_the_bits_of_eager_ones(name: str) -> None:
    options = LAZY[name]
    with config.override(backend="reference"):
        assert train(True, name, options) == train(False, name, options)


@pytest.mark.parametrize("name", [each for each in LAZY if each != "Muon"])
def test_compiled_steps_differ_from_eager_ones_by_rounding(name: str) -> None:
    options = LAZY[name]
    with config.override(backend="cpu"):
        compiled = train(True, name, options, rows=9)
    for one, other in zip(compiled, train(False, name, options, rows=9), strict=True):
        for row, expected in zip(one, other, strict=True):
            numpy.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-6)


def test_a_step_waits_for_no_value() -> None:
    """With the waiting functions removed, every optimizer but L-BFGS still makes its step."""
    waiting = ("item", "tolist", "numpy", "__bool__", "__float__", "__int__", "__array__")
    for (name, options), tensor_rate in itertools.product(LAZY.items(), (False, True)):
        if tensor_rate and name in ("Rprop", "Adam", "Muon"):
            continue
        rate = {"lr": thunk.tensor(0.1)} if tensor_rate else {}
        param = thunk.ones(3, 2, requires_grad=True)
        optimizer = getattr(thunk.optim, name)([param], **{**options, **rate})
        with pytest.MonkeyPatch.context() as patch:
            for each in waiting:
                patch.setattr(thunk.Tensor, each, _refuse(each))
            for _ in range(3):
                param.grad = thunk.ones(3, 2)
                optimizer.step()


def _refuse(name: str) -> Any:
    def waited(self: Any, *args: Any) -> Any:
        raise AssertionError(f"{name} was called")

    return waited
