"""Samples whose parameters are tensors."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ir.opdef import NoGradient
from thunk.ops.creation.factory import CONSTANT, FACTORY, factory
from thunk.ops.declare import declare
from thunk.ops.random.fills import GENERATOR, check_probability, no_flow
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec, make_spec


def _bernoulli(self: TensorSpec, generator: Any) -> TensorSpec:
    return self.fresh()


def _bernoulli_p(self: TensorSpec, p: float, generator: Any) -> TensorSpec:
    check_probability(p)
    return self.fresh()


declare(
    f"bernoulli(Tensor self, *, {GENERATOR}) -> Tensor",
    doc="Ones with the probabilities `self`, else zeros.",
    spec=_bernoulli,
    vjp={"self": no_flow},
    variants="function method",
    random=True,
    raises_on_data="self",
)
declare(
    f"bernoulli.p(Tensor self, float p, *, {GENERATOR}) -> Tensor",
    doc="Ones with probability `p`, else zeros, in the shape of `self`.",
    spec=_bernoulli_p,
    vjp={"self": no_flow},
    random=True,
)


def _multinomial(
    self: TensorSpec, num_samples: int, replacement: bool, generator: Any
) -> TensorSpec:
    if not self.dtype.is_floating_point:
        raise expected("multinomial weights of a floating point dtype", repr(self.dtype))
    if self.ndim not in (1, 2):
        raise expected("a prob_dist of 1 or 2 dimensions", self.ndim)
    if num_samples <= 0:
        raise expected("to sample n_sample > 0 samples", num_samples)
    if not replacement and num_samples > self.shape[-1]:
        raise expected(
            f"n_sample <= {self.shape[-1]} without replacement", num_samples,
            "pass replacement=True",
        )  # fmt: skip
    return make_spec((*self.shape[:-1], num_samples), int64, self.device)


declare(
    f"multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, {GENERATOR}) "
    "-> Tensor",
    doc="Categories drawn with the weights of each row.",
    spec=_multinomial,
    vjp=NoGradient("categories are integers"),
    variants="function method",
    random=True,
    raises_on_data="self",
)


def _poisson(self: TensorSpec, generator: Any) -> TensorSpec:
    return make_spec(self.shape, self.dtype, self.device)


declare(
    "poisson(Tensor self, Generator? generator=None) -> Tensor",
    doc="Numbers of events at the rates `self`.",
    spec=_poisson,
    vjp={"self": no_flow},
    variants="function out",
    random=True,
    raises_on_data="self",
)


def _binomial(count: TensorSpec, prob: TensorSpec, generator: Any) -> TensorSpec:
    for name, each in (("count", count), ("prob", prob)):
        if not each.dtype.is_floating_point:
            raise expected(
                f"binomial {name} of a floating point dtype", repr(each.dtype), kind=ValueError
            )
    if count.dtype is not prob.dtype:
        raise expected("count and prob of one dtype", f"{count.dtype} and {prob.dtype}")
    return make_spec(broadcast_shapes([count.shape, prob.shape]), count.dtype, count.device)


declare(
    "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
    doc="Numbers of successes among `count` trials.",
    spec=_binomial,
    vjp={
        "count": lambda grad: t.zeros_like(grad),
        "prob": lambda grad: t.zeros_like(grad),
    },
    variants="function out",
    random=True,
    raises_on_data="count prob",
)


def _gamma(self: TensorSpec, generator: Any) -> TensorSpec:
    return make_spec(self.shape, self.dtype, self.device)


def _dirichlet_vjp(grad: Any, self: Any, result: Any) -> Any:
    """A sample's parts share one sum, so each moves the others back."""
    total = t.expand(t.sum(self, [-1], True), self._spec.shape)
    slope = t._dirichlet_grad(result, self, total)
    return slope * (grad - t.sum(result * grad, [-1], True))


for _name, _doc, _vjp in (
    (
        "_standard_gamma", "Numbers of the gamma distribution with the concentrations `self`.",
        lambda grad, self, result: grad * t._standard_gamma_grad(self, result),
    ),
    (
        "_sample_dirichlet", "Points of Dirichlet's distribution with the concentrations `self`.",
        _dirichlet_vjp,
    ),
):  # fmt: skip
    declare(
        f"{_name}(Tensor self, Generator? generator=None) -> Tensor",
        doc=_doc,
        spec=_gamma,
        vjp={"self": _vjp},
        variants="function out",
        random=True,
        raises_on_data="self",
    )


def _check_std(std: TensorSpec) -> None:
    if std.dtype.is_complex:
        raise expected("a standard deviation of a real dtype", repr(std.dtype))


def _normal_means(mean: TensorSpec, std: float, generator: Any) -> TensorSpec:
    if std < 0:
        raise expected("std >= 0.0", std)
    return make_spec(mean.shape, mean.dtype, mean.device)


def _normal_stds(mean: float, std: TensorSpec, generator: Any) -> TensorSpec:
    _check_std(std)
    return make_spec(std.shape, std.dtype, std.device)


def _normal_both(mean: TensorSpec, std: TensorSpec, generator: Any) -> TensorSpec:
    _check_std(std)
    shape = broadcast_shapes([mean.shape, std.shape])
    return make_spec(shape, mean.dtype, mean.device)


def _zeros_of(spec: TensorSpec) -> Any:
    return t.zeros(spec.shape, dtype=spec.dtype, device=spec.device)


_MEAN = {"mean": lambda mean_spec: _zeros_of(mean_spec)}
_STD = {"std": lambda std_spec: _zeros_of(std_spec)}

declare(
    f"normal.Tensor_float(Tensor mean, float std=1, *, {GENERATOR}) -> Tensor",
    doc="Normal numbers of the means `mean`.",
    spec=_normal_means,
    vjp=_MEAN,
    variants="function",
    random=True,
)
declare(
    f"normal.float_Tensor(float mean, Tensor std, *, {GENERATOR}) -> Tensor",
    doc="Normal numbers of the standard deviations `std`.",
    spec=_normal_stds,
    vjp=_STD,
    variants="function",
    random=True,
    raises_on_data="std",
)
declare(
    f"normal.Tensor_Tensor(Tensor mean, Tensor std, *, {GENERATOR}) -> Tensor",
    doc="Normal numbers of the means `mean` and standard deviations `std`.",
    spec=_normal_both,
    vjp=_MEAN | _STD,
    variants="function",
    random=True,
    raises_on_data="std",
)
declare(
    f"normal.float_float(float mean, float std, SymInt[] size, *, {GENERATOR}, {FACTORY}) "
    "-> Tensor",
    doc="Normal numbers in a new tensor.",
    spec=lambda mean, std, size, generator, *options: factory(size, *options),
    vjp=CONSTANT,
    variants="function",
    random=True,
)
