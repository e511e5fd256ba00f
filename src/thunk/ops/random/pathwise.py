"""How samples move when the parameters of their distribution do, at a fixed rank among samples."""

from __future__ import annotations

from thunk.base.errors import expected
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import declare
from thunk.types.spec import TensorSpec, make_spec

_MISSING = MissingGradient("the second gradient of gamma and Dirichlet samples is not written")


def _gamma(self: TensorSpec, output: TensorSpec) -> TensorSpec:
    return _alike(self, output)


def _dirichlet(x: TensorSpec, alpha: TensorSpec, total: TensorSpec) -> TensorSpec:
    return _alike(x, alpha, total)


def _alike(first: TensorSpec, *others: TensorSpec) -> TensorSpec:
    for each in others:
        if each.shape != first.shape:
            raise expected(f"operands of one shape, {first.shape}", each.shape)
    return make_spec(first.shape, first.dtype, first.device)


declare(
    "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor",
    doc="The derivative of gamma samples `output` by their concentrations `self`.",
    spec=_gamma,
    vjp=_MISSING,
    variants="function",
)
declare(
    "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor",
    doc="The derivative of Dirichlet samples `x` by their own concentration, over `1 - x`.",
    spec=_dirichlet,
    vjp=_MISSING,
    variants="function",
)
