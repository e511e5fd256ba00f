"""Scenarios of autograd, each a short program run on PyTorch and on Thunk: the reports must agree.

A scenario takes the library and yields what it observed; an exception is observed by its type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import thunk
from scenarios import Scenario, leaf, observed, shown

SCENARIOS: list[Scenario] = []


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(function)
    return function


@scenario
def accumulates_in_place(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    (x * x).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    yield x.grad
    yield first is x.grad


@scenario
def second_backward_raises(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = (x * x).sum()
    y.backward()
    y.backward()
    yield "not reached"


@scenario
def second_backward_without_saved_values(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    yield x.grad


@scenario
def retain_graph(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    yield x.grad


@scenario
def non_scalar_needs_gradient(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 2
    y.backward(lib.tensor([1.0, 10.0], dtype=lib.float64))
    yield x.grad
    (x * 2).backward()


@scenario
def unused_input(lib: Any) -> Iterator[Any]:
    x, y = leaf(lib, 1), leaf(lib, 2)
    found = lib.autograd.grad(x.sum(), [x, y], allow_unused=True)
    yield found[0], found[1] is None
    materialised = lib.autograd.grad(x.sum(), [x, y], materialize_grads=True)
    yield materialised
    lib.autograd.grad(x.sum(), [x, y])


@scenario
def double_backward(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2, 3)
    (g,) = lib.autograd.grad((x * x * x).sum(), x, create_graph=True)
    yield g, g.requires_grad
    (h,) = lib.autograd.grad((g * g).sum(), x)
    yield h


@scenario
def create_graph_accumulates(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 2)
    (x * x).sum().backward(create_graph=True)
    yield x.grad.requires_grad
    (x.grad * x).sum().backward()
    yield x.grad


@scenario
def several_roots(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    a, b = x * 2, x * x
    lib.autograd.backward([a.sum(), b.sum()])
    yield x.grad


@scenario
def grad_of_intermediate(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 2
    z = (y * y).sum()
    yield lib.autograd.grad(z, [y, x])


@scenario
def inputs_limit_backward(lib: Any) -> Iterator[Any]:
    x, y = leaf(lib, 1), leaf(lib, 2)
    (x * y).sum().backward(inputs=[x])
    yield x.grad, y.grad is None


@scenario
def tensor_hooks_replace_in_order(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 3
    log: list[str] = []
    y.register_hook(lambda g: log.append("a") or g * 2)
    handle = y.register_hook(lambda g: log.append("b") or g + 1)
    x.register_hook(lambda g: log.append("leaf"))
    y.sum().backward(retain_graph=True)
    yield x.grad, log
    handle.remove()
    x.grad = None
    y.sum().backward()
    yield x.grad, log


@scenario
def hook_with_retain_grad(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: g * 5)
    y.sum().backward()
    yield y.grad, x.grad, y.retains_grad


@scenario
def post_accumulate_hook(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    log: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda p: log.append(shown(p.grad)))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    yield log
    (x * 2).register_post_accumulate_grad_hook(print)


@scenario
def hook_needs_gradient(lib: Any) -> Iterator[Any]:
    lib.tensor([1.0]).register_hook(print)
    yield "not reached"


@scenario
def node_hooks(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 3
    log: list[Any] = []
    y.grad_fn.register_hook(lambda gi, go: log.append(("post", shown(gi[0]), shown(go[0]))))
    y.grad_fn.register_prehook(lambda go: (go[0] * 2,))
    y.sum().backward()
    yield log, x.grad


@scenario
def names_and_edges(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = (x * 2 + 1).sum()
    node = y.grad_fn
    seen = []
    while node is not None:
        seen.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    yield [each.split("::")[-1] for each in seen]


@scenario
def overwritten_saved_value(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 2
    z = y * y
    y.add_(1)
    z.sum().backward()
    yield "not reached"


@scenario
def overwritten_value_nobody_reads(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 2
    z = y + 1
    y.mul_(5)
    z.sum().backward()
    yield x.grad


@scenario
def write_to_a_leaf(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    with lib.no_grad():
        x.add_(1)
    yield x, x._version, x.is_leaf
    x.add_(1)


@scenario
def view_write_reaches_base(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2, 3)
    base = x * 2
    view = base.view(3, 1).transpose(0, 1)
    view.mul_(3)
    yield base, base.grad_fn.name(), view.grad_fn is not None, base._version
    (base * base).sum().backward()
    yield x.grad


@scenario
def views_of_one_base(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2, 3, 4)
    base = (x * 1).view(2, 2)
    row, column = base.select(0, 0), base.select(1, 1)
    row.mul_(2)
    column.add_(row.clone())
    yield base, row, column
    (column * base.select(0, 1)).sum().backward()
    yield x.grad


@scenario
def detached_alias_shares_versions(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 2
    z = y * y
    y.detach().add_(1)
    yield y, y._version
    z.sum().backward()


@scenario
def data_hides_writes(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 2
    z = (y * y).sum()
    y.data.add_(1)
    yield y._version
    z.backward()
    yield x.grad


@scenario
def requires_grad_flags(lib: Any) -> Iterator[Any]:
    x = lib.tensor([1.0, 2.0])
    y = x * 2
    yield y.requires_grad, y.is_leaf
    x.requires_grad_()
    z = x * 2
    yield z.requires_grad, z.is_leaf
    z.requires_grad_(False)


@scenario
def integers_have_no_gradient(lib: Any) -> Iterator[Any]:
    lib.tensor([1, 2]).requires_grad_()
    yield "not reached"


@scenario
def detach_in_place(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    y = x * 2
    y.detach_()
    yield y.requires_grad, y.is_leaf
    view = (x * 2).view(2)
    view.detach_()


@scenario
def grad_assignment(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    x.grad = lib.tensor([1.0, 1.0], dtype=lib.float64)
    (x * 2).sum().backward()
    yield x.grad
    x.grad = lib.tensor([1.0, 1.0, 1.0], dtype=lib.float64)


@scenario
def modes(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    with lib.no_grad():
        yield (x * 2).requires_grad, lib.is_grad_enabled()
        with lib.enable_grad():
            yield (x * 2).requires_grad
    with lib.set_grad_enabled(False):
        yield lib.is_grad_enabled()
    yield lib.is_grad_enabled()

    @lib.no_grad()
    def decorated() -> bool:
        return bool(lib.is_grad_enabled())

    @lib.no_grad
    def bare() -> bool:
        return bool(lib.is_grad_enabled())

    @lib.no_grad()
    def generator() -> Iterator[bool]:
        yield lib.is_grad_enabled()
        yield lib.is_grad_enabled()

    yield decorated(), bare()
    for value in generator():
        yield value, lib.is_grad_enabled()


@scenario
def inference(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    with lib.inference_mode():
        y = x * 2
        yield y.requires_grad, y.is_inference(), lib.is_inference_mode_enabled()
        y.add_(1)
    yield y
    yield (y + 1).is_inference()
    x * y
    yield "not reached"


@scenario
def anomaly_names_nan(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 0)
    with lib.autograd.set_detect_anomaly(True):
        y = (x * float("inf")) * x
        y.sum().backward()
    yield "not reached"


@scenario
def saved_tensor_hooks(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1, 2)
    log: list[str] = []
    with lib.autograd.graph.saved_tensors_hooks(
        lambda v: log.append("pack") or v * 2, lambda v: log.append("unpack") or v
    ):
        y = x * x
    y.sum().backward()
    yield x.grad, log


@scenario
def functional_products(lib: Any) -> Iterator[Any]:
    x = lib.tensor([1.0, 2.0, 3.0], dtype=lib.float64)
    v = lib.tensor([1.0, 0.5, 2.0], dtype=lib.float64)
    f = lib.autograd.functional
    yield f.jacobian(lambda a: a * a, x)
    yield f.hessian(lambda a: (a * a * a).sum(), x)
    yield f.vjp(lambda a: a * a, x, v)
    yield f.jvp(lambda a: a * a, x, v)
    yield f.hvp(lambda a: (a * a * a).sum(), x, v)
    yield f.vhp(lambda a: (a * a * a).sum(), x, v)


@scenario
def shared_gradient_is_not_aliased(lib: Any) -> Iterator[Any]:
    x, y = leaf(lib, 1, 2), leaf(lib, 3, 4)
    (x + y).sum().backward()
    x.grad.mul_(10)
    yield x.grad, y.grad


@scenario
def expanded_target(lib: Any) -> Iterator[Any]:
    x = lib.tensor([1.0])
    x.expand(3).add_(1)
    yield "not reached"


@scenario
def diamonds(lib: Any) -> Iterator[Any]:
    x = leaf(lib, 1)
    y = x
    for _ in range(60):
        y = (y + y) * 0.5
    y.sum().backward()
    yield x.grad


@pytest.mark.parametrize("function", SCENARIOS, ids=lambda f: f.__name__)
def test_scenario(function: Scenario) -> None:
    assert observed(function, thunk) == observed(function, torch)
