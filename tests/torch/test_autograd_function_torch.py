"""Custom Functions, each a short program run on PyTorch and on Thunk: the reports must agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import thunk
from scenarios import Scenario, caught, leaf, observed

SCENARIOS: list[Scenario] = []


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(function)
    return function


def function_of(lib: Any, forward: Any, backward: Any, **more: Any) -> Any:
    """A Function of the library with these static methods."""
    methods = {"forward": forward, "backward": backward, **more}
    body = {name: staticmethod(each) for name, each in methods.items() if each is not None}
    return type("Made", (lib.autograd.Function,), body)


def square_of(lib: Any, **more: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * grad

    return function_of(lib, forward, backward, **more)


@scenario
def first_and_second_gradient(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, -3)
    y = square_of(lib).apply(x)
    yield y, type(y.grad_fn).__name__, y.grad_fn.name()
    (first,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    yield first, first.requires_grad
    yield lib.autograd.grad((first * first).sum(), x)


@scenario
def numbers_and_unneeded_inputs(lib: Any) -> Iterator[Any]:
    seen = []

    def forward(ctx: Any, x: Any, power: int, y: Any, z: Any) -> Any:
        ctx.power = power
        ctx.save_for_backward(x, None, y)
        return x**power * y + z

    def backward(ctx: Any, grad: Any) -> Any:
        x, nothing, y = ctx.saved_tensors
        seen.append((ctx.needs_input_grad, nothing is None))
        return grad * ctx.power * x ** (ctx.power - 1) * y, None, None, grad

    x, z = leaf(lib, 2, 3), leaf(lib, 1, 1)
    y = lib.tensor([5.0, 7.0], dtype=lib.float64)
    function_of(lib, forward, backward).apply(x, 3, y, z).sum().backward()
    yield x.grad, y.grad is None, z.grad, [list(seen[0][0]), seen[0][1]]


@scenario
def modes_inside(lib: Any) -> Iterator[Any]:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append((lib.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad))
        return x * 2

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append((lib.is_grad_enabled(), grad.requires_grad))
        return grad * 2

    double = function_of(lib, forward, backward)
    x = leaf(lib, 1)
    lib.autograd.grad(double.apply(x).sum(), x)
    lib.autograd.grad((double.apply(x) ** 2).sum(), x, create_graph=True)
    with lib.no_grad():
        seen.append((double.apply(x).requires_grad, double.apply(x).grad_fn is None))
    seen.append((double.apply(x.detach()).requires_grad,))
    yield seen


@scenario
def several_outputs(lib: Any) -> Iterator[Any]:
    for materialize in (True, False):
        seen: list[Any] = []

        def forward(ctx: Any, x: Any, materialize: bool = materialize) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3, 17, x.sum()

        def backward(ctx: Any, *grads: Any, seen: list[Any] = seen) -> Any:
            seen.append([None if each is None else each for each in grads])
            return grads[0] * 2

        x = leaf(lib, 1, 2)
        twice, _, number, _ = function_of(lib, forward, backward).apply(x)
        twice.sum().backward()
        yield number, x.grad, len(seen[0]), seen[0]


@scenario
def constants_among_the_outputs(lib: Any) -> Iterator[Any]:
    def forward(ctx: Any, x: Any) -> Any:
        values, order = x.sort()
        signs = x.sign()
        ctx.mark_non_differentiable(order, signs)
        ctx.save_for_backward(order)
        return values, order, signs

    def backward(ctx: Any, grad: Any, *others: Any) -> Any:
        (order,) = ctx.saved_tensors
        return lib.zeros_like(grad).scatter(0, order, grad)

    x = leaf(lib, 3, 1, 2)
    values, order, signs = function_of(lib, forward, backward).apply(x)
    yield [each.requires_grad for each in (values, order, signs)], signs.grad_fn is None
    (values * lib.tensor([1.0, 10.0, 100.0], dtype=lib.float64)).sum().backward()
    yield x.grad


@scenario
def writing_to_an_input(lib: Any) -> Iterator[Any]:
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    triple = function_of(lib, forward, lambda ctx, grad: grad * 3)
    x = leaf(lib, 1, 2)
    y = x * 5
    z = triple.apply(y)
    yield z is y, y._version, type(y.grad_fn).__name__
    (y * y).sum().backward()
    yield x.grad
    w = x * 1
    row = w[:1]
    triple.apply(row)
    yield w
    yield lib.autograd.grad(w.sum(), x)
    yield caught(lambda: triple.apply(x))
    plain = lib.ones(2, dtype=lib.float64)
    yield triple.apply(plain) is plain, plain, plain._version


@scenario
def a_written_input_must_be_returned(lib: Any) -> Iterator[Any]:
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(3)
        ctx.mark_dirty(x)
        return x * 1

    yield function_of(lib, forward, lambda ctx, grad: grad).apply(leaf(lib, 1) * 2)


@scenario
def an_input_returned_as_it_is(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    identity = function_of(lib, lambda ctx, x: x, lambda ctx, grad: grad * 10)
    y = identity.apply(x)
    yield y is x, y.requires_grad, y.grad_fn is None, x.grad_fn is None
    y.sum().backward()
    yield x.grad


@scenario
def once_is_enough(lib: Any) -> Iterator[Any]:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @lib.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return (2 * x * grad).detach()

    function = function_of(lib, forward, backward)
    x = leaf(lib, 3)
    yield lib.autograd.grad(function.apply(x).sum(), x)
    (first,) = lib.autograd.grad(function.apply(x).pow(2).sum(), x, create_graph=True)
    yield first
    yield lib.autograd.grad(first.sum(), x)


@scenario
def forward_and_context_apart(lib: Any) -> Iterator[Any]:
    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        x, scale = inputs
        ctx.scale = scale
        ctx.save_for_backward(x, output)

    def backward(ctx: Any, grad: Any) -> Any:
        x, output = ctx.saved_tensors
        return grad * ctx.scale * x.cos() + 0 * output, None

    function = function_of(lib, lambda x, scale: x.sin() * scale, backward, setup_context=setup)
    x = leaf(lib, 0.5)
    y = function.apply(x, 4)
    (first,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    yield y, first
    yield lib.autograd.grad(first.sum(), x)


@scenario
def saved_values_that_were_overwritten(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 1
    z = square_of(lib).apply(y)
    y.add_(1)
    yield caught(lambda: z.sum().backward())

    def forward(ctx: Any, x: Any) -> Any:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0]

    exponential = function_of(lib, forward, backward)
    result = exponential.apply(x)
    yield lib.autograd.grad(result.sum(), x)
    result = exponential.apply(x)
    result.mul_(2)
    yield caught(lambda: result.sum().backward())


@scenario
def saved_values_are_freed(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 2)
    y = square_of(lib).apply(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    yield x.grad
    yield caught(lambda: y.sum().backward())
    yield caught(lambda: y.grad_fn.saved_tensors)


@scenario
def only_tensors_are_saved(lib: Any) -> Iterator[Any]:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, 3)
        return x * 2

    function = function_of(lib, forward, lambda ctx, grad: grad)
    yield caught(lambda: function.apply(leaf(lib, 1)))


@scenario
def wrong_gradients(lib: Any) -> Iterator[Any]:
    returns: list[Any] = [
        lambda grad: (grad, grad),
        lambda grad: (grad, None),
        lambda grad: (),
        lambda grad: None,
        lambda grad: 3,
        lambda grad: grad[:1],
        lambda grad: lib.cat([grad, grad]),
        lambda grad: lib.stack([grad, grad]),
        lambda grad: grad.float(),
        lambda grad: grad.sum(),
    ]
    for returned in returns:
        function = function_of(
            lib, lambda ctx, x: x * 2, lambda ctx, grad, returned=returned: returned(grad)
        )
        x = leaf(lib, 1, 2)
        yield caught(lambda function=function, x=x: function.apply(x).sum().backward())
        yield None if x.grad is None else (x.grad, str(x.grad.dtype).split(".")[1])


@scenario
def methods_that_are_missing(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1)
    yield caught(lambda: function_of(lib, None, None).apply(x))
    forward = function_of(lib, lambda ctx, x: x * 2, None).apply(x)
    yield forward
    yield caught(lambda: forward.sum().backward())
    rule = function_of(lib, lambda ctx, x: x * 2, None, vjp=lambda ctx, grad: grad * 7)
    rule.apply(x).sum().backward()
    yield x.grad
    both = function_of(lib, lambda ctx, x: x * 2, lambda ctx, g: g, vjp=lambda ctx, g: g)
    yield caught(lambda: both.apply(x).sum().backward())
    yield caught(lambda: function_of(lib, lambda ctx, x: x, None)()(x))


@scenario
def what_backward_raises_arrives(lib: Any) -> Iterator[Any]:
    def backward(ctx: Any, grad: Any) -> Any:
        raise ValueError("told")

    y = function_of(lib, lambda ctx, x: x * 2, backward).apply(leaf(lib, 1))
    yield caught(lambda: y.sum().backward())


@scenario
def one_input_twice_and_tensors_in_lists(lib: Any) -> Iterator[Any]:
    product = function_of(lib, lambda ctx, x, y: x + 2 * y, lambda ctx, grad: (grad, 2 * grad))
    x = leaf(lib, 1, 2)
    product.apply(x, x).sum().backward()
    yield x.grad
    hidden = function_of(lib, lambda ctx, values: values[0] * 2, lambda ctx, grad: None)
    yield hidden.apply([x]).requires_grad


@scenario
def hooks_of_the_node(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = square_of(lib).apply(x)
    seen: list[Any] = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((list(inputs), list(outputs))))
    y.register_hook(lambda grad: grad * 10)
    y.sum().backward()
    yield seen, x.grad
    yield [edge[1] for edge in y.grad_fn.next_functions]


@scenario
def functions_within_functions(lib: Any) -> Iterator[Any]:
    square = square_of(lib)

    def forward(ctx: Any, x: Any) -> Any:
        with lib.enable_grad():
            inner = x.detach().requires_grad_()
            ctx.inner, ctx.outer = inner, square.apply(inner).sum()
        return ctx.outer.detach()

    def backward(ctx: Any, grad: Any) -> Any:
        return lib.autograd.grad(ctx.outer, ctx.inner, grad)[0]

    x = leaf(lib, 1, 2)
    function_of(lib, forward, backward).apply(x).backward()
    yield x.grad


@pytest.mark.parametrize("function", SCENARIOS, ids=lambda each: each.__name__)
def test_scenario(function: Scenario) -> None:
    expected = observed(function, torch)
    assert len(expected) > 0
    assert observed(function, thunk) == expected
