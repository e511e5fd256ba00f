"""Operators and kernels from user code behave as declared ones and disappear with their library."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import thunk
from thunk.dispatch.keys import DispatchKey
from thunk.dispatch.registry import registry
from thunk.lazy.eager import execution
from thunk.library import Library, custom_op, infer_schema, register_autograd, register_fake
from thunk.ops.registry import find_op


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library("unit", "DEF")
    yield made
    made._destroy()


def leaf() -> Any:
    return thunk.tensor([1.0, 2.0], requires_grad=True)


def test_a_defined_operator_runs_its_kernel(library: Library) -> None:
    assert library.define("twice(Tensor x) -> Tensor") == "twice"
    library.impl("twice", lambda x: x * 2, "CPU")
    assert thunk.ops.unit.twice(thunk.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert thunk.ops.unit.twice.default(x=thunk.tensor([3.0])).tolist() == [6.0]
    assert thunk.ops.unit.twice.overloads() == ["default"]
    assert (str(thunk.ops.unit.twice), str(thunk.ops.aten.add.Tensor)) == (
        "unit.twice", "aten.add.Tensor"
    )  # fmt: skip


def test_destroying_reverses_everything(library: Library) -> None:
    version = registry.version
    library.define("gone(Tensor x) -> Tensor")
    library.impl("gone", lambda x: x, "CPU")
    assert registry.version > version
    library._destroy()
    assert find_op("unit::gone") is None
    with pytest.raises(AttributeError, match="unit"):
        _ = thunk.ops.unit
    Library("unit", "DEF")._destroy()


def test_a_missing_gradient_raises_at_backward(library: Library) -> None:
    library.define("opaque(Tensor x) -> Tensor")
    library.impl("opaque", lambda x: x * 2, "CPU")
    result = thunk.ops.unit.opaque(leaf())
    assert result.requires_grad
    with pytest.raises(RuntimeError, match="register_autograd"):
        result.sum().backward()


def test_a_composite_kernel_is_differentiated(library: Library) -> None:
    library.define("cube(Tensor x) -> Tensor")
    library.impl("cube", lambda x: x * x * x, "CompositeImplicitAutograd")
    x = leaf()
    thunk.ops.unit.cube(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_register_autograd_and_fake(library: Library) -> None:
    library.define("scaled(Tensor x, float k) -> Tensor")
    library.impl("scaled", lambda x, k: x * k, "CPU")

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.k = inputs[1]

    register_autograd(
        "unit::scaled", lambda ctx, g: (g * ctx.k, None), setup_context=setup, lib=library
    )
    register_fake("unit::scaled", lambda x, k: x.new_empty(x.shape), lib=library)
    x = leaf()
    thunk.ops.unit.scaled(x, 3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    shown = thunk.ops.unit.scaled(thunk.zeros(2, 3, device="meta"), 3.0)
    assert (shown.device.type, tuple(shown.shape)) == ("meta", (2, 3))


def test_kinds_and_duplicates_are_refused(library: Library) -> None:
    with pytest.raises(RuntimeError, match="single library"):
        Library("unit", "DEF")
    with pytest.raises(ValueError, match="Unsupported library kind"):
        Library("unit", "NONE")
    with pytest.raises(ValueError, match="reserved"):
        Library("prim", "DEF")
    with pytest.raises(RuntimeError, match="IMPL"):
        Library("unit", "IMPL").define("f(Tensor x) -> Tensor")
    library.define("one(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="one declaration"):
        library.define("one(Tensor x) -> Tensor")
    library.impl("one", lambda x: x, "CPU")
    with pytest.raises(RuntimeError, match="already a kernel"):
        library.impl("one", lambda x: x, "CPU")
    with pytest.raises(TypeError, match="callable"):
        library.impl("one", 3, "Meta")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(RuntimeError, match="dispatch key"):
        library.impl("one", lambda x: x, "NoSuchKey")


def test_an_aten_kernel_can_be_overridden_with_a_warning() -> None:
    override = Library("aten", "IMPL")
    with pytest.warns(UserWarning, match="Overriding"):
        override.impl("neg", lambda x: x * 100, "CPU")
    try:
        assert thunk.neg(thunk.tensor([1.0])).tolist() == [100.0]
    finally:
        override._destroy()
    assert thunk.neg(thunk.tensor([1.0])).tolist() == [-1.0]


def test_a_write_is_counted_once(library: Library) -> None:
    library.define("bump(Tensor(a!) x) -> ()")
    library.impl("bump", lambda x: None, "CPU")
    x = thunk.zeros(2)
    thunk.ops.unit.bump(x)
    assert x._version == 1


def test_custom_op() -> None:
    @custom_op("unit_custom::scale", mutates_args=())
    def scale(x: thunk.Tensor, factor: float = 2.0) -> thunk.Tensor:
        return x * factor

    scale.register_autograd(lambda ctx, g: (g * 7, None))
    x = leaf()
    scale(x).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]
    assert scale(thunk.tensor([1.0]), 5.0).tolist() == [5.0]
    scale._lib._destroy()


def test_a_custom_op_without_values_needs_a_fake() -> None:
    @custom_op("unit_custom::sine", mutates_args=())
    def sine(x: thunk.Tensor) -> thunk.Tensor:
        return thunk.from_numpy(numpy.sin(x.detach().numpy()))

    shapes = thunk.zeros(2, 3, device="meta")
    with pytest.raises(RuntimeError, match="no fake impl registered"):
        sine(shapes)
    sine.register_fake(thunk.empty_like)
    assert (sine(shapes).device.type, tuple(sine(shapes).shape)) == ("meta", (2, 3))
    assert sine(thunk.zeros(1)).tolist() == [0.0]
    sine._lib._destroy()


@pytest.mark.parametrize("lazy", [False, True])
def test_results_of_a_custom_op_share_no_memory(lazy: bool) -> None:
    @custom_op("unit_custom::same", mutates_args=())
    def same(x: thunk.Tensor, how: str) -> list[thunk.Tensor]:
        new = x + 1
        return {"itself": [x], "view": [x.view(-1)], "twice": [new, new], "new": [new]}[how]

    with execution(lazy=lazy):
        for how in ("itself", "view", "twice"):
            with pytest.raises(RuntimeError, match="unit_custom::same: expected results that shar"):
                same(thunk.ones(2), how)
        assert same(thunk.ones(2), "new")[0].tolist() == [2.0, 2.0]
    same._lib._destroy()


def test_a_custom_op_that_writes() -> None:
    @custom_op("unit_custom::fill", mutates_args={"x"})
    def fill(x: thunk.Tensor, value: float) -> None:
        x.numpy()[:] = value

    target = thunk.zeros(2)
    fill(target, 3.0)
    assert (target.tolist(), target._version) == ([3.0, 3.0], 1)
    fill._lib._destroy()


def test_decorators_that_take_a_library(library: Library) -> None:
    library.define("half(Tensor x) -> Tensor")

    @thunk.library.impl(library, "half", "CPU")
    def half(x: Any) -> Any:
        return x / 2

    @thunk.library.define(library, "double(Tensor x) -> Tensor")
    def double(x: Any) -> Any:
        return x * 2

    x = leaf()
    assert thunk.ops.unit.half(thunk.ones(1)).tolist() == half(thunk.ones(1)).tolist() == [0.5]
    thunk.ops.unit.double(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_infer_schema() -> None:
    def f(x: thunk.Tensor, y: thunk.Tensor | None, n: int, *, name: str = "a") -> thunk.Tensor:
        return x

    assert infer_schema(f, mutates_args={"x"}) == (
        '(Tensor(a0!) x, Tensor? y, SymInt n, *, str name="a") -> Tensor'
    )

    def bad(x: dict) -> thunk.Tensor:  # type: ignore[type-arg]  # the mistake under test
        return x  # type: ignore[return-value]

    with pytest.raises(ValueError, match="unsupported type"):
        infer_schema(bad, mutates_args=())


def test_registering_quietly_gives_no_warning(library: Library) -> None:
    library.define("quiet(Tensor x) -> Tensor")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library.impl("quiet", lambda x: x, "CPU")
        library.impl("quiet", lambda x: x, "Meta")


def test_fragments_add_to_a_namespace_and_leave_alone(library: Library) -> None:
    library.define("one(Tensor x) -> Tensor")
    library.impl("one", lambda x: x + 1, "CompositeImplicitAutograd")
    fragments = [Library("unit", "FRAGMENT"), Library("unit", "FRAGMENT")]
    for number, fragment in enumerate(fragments):
        fragment.define(f"part{number}(Tensor x) -> Tensor")
        fragment.impl(f"part{number}", lambda x: -x, "CompositeImplicitAutograd")
    x = thunk.tensor([1.0])
    assert [thunk.ops.unit.part0(x).item(), thunk.ops.unit.part1(x).item()] == [-1.0, -1.0]
    with pytest.raises(RuntimeError, match="one declaration"):
        fragments[0].define("one(Tensor x) -> Tensor")
    fragments[0]._destroy()
    assert not hasattr(thunk.ops.unit, "part0")
    assert thunk.ops.unit.part1(thunk.ops.unit.one(x)).item() == -2.0
    fragments[1]._destroy()


def test_a_private_backend_has_rows_of_its_own(library: Library) -> None:
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "PrivateUse1")
    key = DispatchKey.PrivateUse1
    assert registry.lookup("unit::twice", key).source_key is key
    assert registry.lookup("unit::twice", DispatchKey.CPU).is_missing
    library.impl("twice", lambda x: x * 3, "CompositeExplicitAutograd")
    assert registry.lookup("unit::twice", key).source_key is key
    assert registry.lookup("unit::twice", DispatchKey.CPU).source_key is (
        DispatchKey.CompositeExplicitAutograd
    )
    assert thunk.ops.unit.twice(thunk.tensor([1.0])).tolist() == [3.0]
