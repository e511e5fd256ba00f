"""An operator without a gradient says why: it raises at backward, or gives constants."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import thunk
import thunk.nn.functional as F
from thunk.ir.opdef import MissingGradient, NoGradient, OpDef
from thunk.ops.registry import all_ops

MISSING = [op for op in all_ops() if isinstance(op.gradient, MissingGradient)]
NONE = [op for op in all_ops() if isinstance(op.gradient, NoGradient)]


def wanted(*shape: int) -> Any:
    """Positive doubles that want a gradient."""
    return thunk.linspace(0.2, 0.8, int(thunk.ones(shape).numel()), dtype=thunk.float64).reshape(
        shape
    ).requires_grad_()


def second(function: Callable[[Any], Any], x: Any) -> Any:
    """A first gradient that wants one itself, by way of what it was multiplied with."""
    out = function(x)
    upstream = thunk.ones_like(out).requires_grad_()
    return thunk.autograd.grad(out, x, upstream, create_graph=True)[0]


LABELS = thunk.tensor([0, 1])
PLACES = thunk.tensor([0, 1, 1])
BAGS = thunk.tensor([0, 2])
CALLS: dict[str, Callable[[], Any]] = {
    "_cdist_backward": lambda: second(lambda x: thunk.cdist(x, wanted(3, 4), 3.0), wanted(2, 4)),
    "_pdist_backward": lambda: second(lambda x: F.pdist(x, 3.0), wanted(3, 4)),
    "_embedding_bag_dense_backward": lambda: second(
        lambda weight: F.embedding_bag(PLACES, weight, BAGS, mode="sum"), wanted(3, 2)
    ),
    "_embedding_bag_per_sample_weights_backward": lambda: second(
        lambda weights: F.embedding_bag(
            PLACES, wanted(3, 2), BAGS, mode="sum", per_sample_weights=weights
        ),
        wanted(3),
    ),
    "scatter.reduce": lambda: wanted(3).scatter(0, PLACES, wanted(3), reduce="add"),
    "scatter.value_reduce": lambda: wanted(3).scatter(0, PLACES, 2.0, reduce="add"),
    "_linalg_eigvals": lambda: thunk.ops.aten._linalg_eigvals(wanted(2, 2)).abs(),
    "linalg_ldl_factor_ex": lambda: thunk.linalg.ldl_factor_ex(wanted(2, 2)),
    "linalg_ldl_solve": lambda: thunk.linalg.ldl_solve(
        wanted(2, 2), thunk.tensor([1, 2], dtype=thunk.int32), wanted(2, 1)
    ),
    "geqrf": lambda: thunk.geqrf(wanted(2, 2)),
    "_ctc_loss_backward": lambda: second(
        lambda x: F.ctc_loss(x, thunk.tensor([[1]]), (4,), (1,), reduction="sum"), wanted(4, 1, 2)
    ),
    "multi_margin_loss_backward": lambda: second(
        lambda x: F.multi_margin_loss(x, LABELS), wanted(2, 3)
    ),
    "multilabel_margin_loss_backward": lambda: second(
        lambda x: F.multilabel_margin_loss(x, thunk.tensor([[0, -1], [1, 0]])), wanted(2, 2)
    ),
    "_grid_sampler_double_backward": lambda: second(
        lambda picture: second(
            lambda grid: F.grid_sample(picture, grid, align_corners=False), wanted(1, 1, 1, 2)
        ),
        wanted(1, 1, 2, 2),
    ),
    "_unique2": lambda: thunk.unique(wanted(3)),
    "unique_dim": lambda: thunk.unique(wanted(3, 2), dim=0),
    "_unique_consecutive": lambda: thunk.unique_consecutive(wanted(3)),
    "unique_dim_consecutive": lambda: thunk.unique_consecutive(wanted(3, 2), dim=0),
}


def result_of(op: OpDef) -> Any:
    name = op.full_name.removeprefix("aten::")
    if name in CALLS:
        result = CALLS[name]()
        return result[0] if isinstance(result, tuple) else result
    tensors = [each for each in op.schema.arguments if each.type.base == "Tensor"]
    return getattr(thunk.ops.aten, op.name)(*[wanted(3) for _ in tensors])


@pytest.mark.parametrize("op", MISSING, ids=lambda op: op.full_name)
def test_a_missing_gradient_raises_with_its_reason(op: OpDef) -> None:
    result = result_of(op)
    assert result.requires_grad
    with pytest.raises(RuntimeError, match=re.escape(op.gradient.reason)) as raised:
        result.sum().backward()
    assert op.name in str(raised.value)


def test_each_constant_has_a_reason() -> None:
    assert len(NONE) > 50
    for op in NONE:
        assert len(op.gradient.reason.split()) >= 2, op.full_name


@pytest.mark.parametrize("name", ["eq", "argmax", "isnan", "sign", "floor", "randn_like"])
def test_constants_and_steps(name: str) -> None:
    """A comparison gives a constant; a step has the gradient zero."""
    x = thunk.tensor([1.0, 2.0], requires_grad=True)
    result = getattr(thunk, name)(*[x] * (2 if name == "eq" else 1))
    assert result.requires_grad == (name in ("sign", "floor"))
    if result.requires_grad:
        result.sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]
