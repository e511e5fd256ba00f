"""In-place samplers, as functional operators: what they return replaces their first argument."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.types.spec import TensorSpec

GENERATOR = "Generator? generator=None"


def _same(self: TensorSpec, *rest: Any) -> TensorSpec:
    return self.fresh()


def no_flow(grad: Any) -> Any:
    """The gradient of a value that the samples replace."""
    return t.zeros_like(grad)


def _fill(schema: str, doc: str, spec: Any = _same) -> None:
    declare(
        f"{schema} -> Tensor",
        doc=doc,
        spec=spec,
        vjp={"self": no_flow},
        variants="inplace",
        random=True,
    )


_fill(
    f"uniform(Tensor self, float from=0, float to=1, *, {GENERATOR})",
    "Uniform numbers of [from, to) in the shape of `self`.",
)
_fill(
    f"normal(Tensor self, float mean=0, float std=1, *, {GENERATOR})",
    "Normal numbers in the shape of `self`.",
)
_fill(
    f"log_normal(Tensor self, float mean=1, float std=2, *, {GENERATOR})",
    "Exponentials of normal numbers in the shape of `self`.",
)
_fill(
    f"cauchy(Tensor self, float median=0, float sigma=1, *, {GENERATOR})",
    "Numbers of Cauchy's distribution in the shape of `self`.",
)
_fill(
    f"exponential(Tensor self, float lambd=1, *, {GENERATOR})",
    "Exponentially distributed numbers in the shape of `self`.",
)
_fill(
    f"geometric(Tensor self, float p, *, {GENERATOR})",
    "Numbers of trials up to the first success in the shape of `self`.",
)
_fill(
    f"random.from(Tensor self, int from, int? to, *, {GENERATOR})",
    "Integers of [from, to), or up to the largest that the dtype holds.",
)
_fill(f"random.to(Tensor self, int to, *, {GENERATOR})", "Integers of [0, to).")
_fill(
    f"random(Tensor self, *, {GENERATOR})",
    "Integers from 0 up to the largest that the dtype holds exactly.",
)


def _bernoulli_tensor(self: TensorSpec, p: TensorSpec, generator: Any) -> TensorSpec:
    if broadcast_shapes([self.shape, p.shape]) != self.shape:
        raise expected(f"probabilities that broadcast to {list(self.shape)}", list(p.shape))
    if not p.dtype.is_floating_point:
        raise expected("floating point probabilities", repr(p.dtype))
    return self.fresh()


def _no_flow_to_p(p_spec: TensorSpec) -> Any:
    return t.zeros(p_spec.shape, dtype=p_spec.dtype, device=p_spec.device)


def check_probability(p: float) -> None:
    """Raise unless `p` is a probability."""
    if not 0 <= p <= 1:
        raise expected("p to be in [0, 1]", p)


def _bernoulli_float(self: TensorSpec, p: float, generator: Any) -> TensorSpec:
    check_probability(p)
    return self.fresh()


declare(
    f"bernoulli.Tensor(Tensor self, Tensor p, *, {GENERATOR}) -> Tensor",
    doc="Ones with the probabilities `p`, else zeros, in the shape of `self`.",
    spec=_bernoulli_tensor,
    vjp={"self": no_flow, "p": _no_flow_to_p},
    variants="inplace",
    random=True,
    raises_on_data="p",
)
_fill(
    f"bernoulli.float(Tensor self, float p=0.5, *, {GENERATOR})",
    "Ones with probability `p`, else zeros, in the shape of `self`.",
    _bernoulli_float,
)
