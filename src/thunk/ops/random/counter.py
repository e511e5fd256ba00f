"""Random numbers of a counter: what compiled steps draw, with their seeds as runtime numbers.

Invariant: element i (in row-major order) depends on (seed, offset, i) alone; see
`docs/design/random.md`. The operators that users call draw from the generator's state instead.
"""

from __future__ import annotations

from typing import Any

from thunk.ops.declare import declare
from thunk.ops.dropout.dropout import scale_of
from thunk.ops.registry import t
from thunk.ops.rules.spatial import INEXACT, check_dtype
from thunk.types.dtype import bool_
from thunk.types.spec import TensorSpec

_STREAM = "Scalar seed, Scalar offset"


def _like(self: TensorSpec, seed: Any, offset: Any) -> TensorSpec:
    check_dtype(self, INEXACT)
    return self.fresh()


def _zero(grad: Any) -> Any:
    return t.zeros_like(grad)


declare(
    f"_counter_bernoulli(Tensor self, float p, {_STREAM}) -> Tensor",
    doc="Whether each element is drawn, with probability `p`, as booleans in the shape of `self`.",
    spec=lambda self, p, seed, offset: self.fresh().with_dtype(bool_),
    vjp={"self": _zero},
    variants="",
)
declare(
    f"_counter_uniform(Tensor self, {_STREAM}) -> Tensor",
    doc="Uniform numbers of [0, 1) in the shape and dtype of `self`.",
    spec=_like,
    vjp={"self": _zero},
    variants="",
)
declare(
    f"_counter_normal(Tensor self, {_STREAM}) -> Tensor",
    doc="Normal numbers of mean 0 and variance 1 in the shape and dtype of `self`.",
    spec=_like,
    vjp={"self": _zero},
    variants="",
)


def _dropout_spec(
    input: TensorSpec, p: float, seed: Any, offset: Any
) -> tuple[TensorSpec, TensorSpec]:
    check_dtype(input, INEXACT)
    found = input.fresh()
    return found, found.with_dtype(bool_)


def _dropout_gradient(grad: Any, p: float, result1: Any) -> Any:
    return t.native_dropout_backward(grad, result1, scale_of(p, True))


declare(
    f"_counter_dropout(Tensor input, float p, {_STREAM}) -> (Tensor, Tensor)",
    doc="`native_dropout` in training, of a counter's random numbers.",
    spec=_dropout_spec,
    vjp={"input": _dropout_gradient},
    variants="",
)
