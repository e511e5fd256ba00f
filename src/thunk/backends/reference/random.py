"""NumPy rules of the operators that draw random numbers, on PyTorch's generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from thunk.backends.reference.kernel import rule
from thunk.runtime import random
from thunk.types.spec import TensorSpec


def _source(generator: Any) -> random.Generator:
    """The stream behind a public generator; the default one if none was given."""
    return random.default_generator if generator is None else generator.source


def _laid_out(
    shape: Sequence[int], strides: Sequence[int], sample: Callable[[tuple[int, ...]], Any]
) -> Any:
    """Samples in the order in which PyTorch walks a tensor of these strides."""
    order = random.fill_order(shape, strides)
    if order == tuple(range(len(shape))):
        return sample(tuple(shape))
    flat = sample((int(numpy.prod(shape)),))
    return random.arrange(flat, shape, order)


def _like_spec(spec: TensorSpec, sample: Callable[[tuple[int, ...]], Any]) -> Any:
    return _laid_out(spec.shape, spec.strides, sample)


def _like_array(array: numpy.ndarray, sample: Callable[[tuple[int, ...]], Any]) -> Any:
    return _laid_out(array.shape, array.strides, sample)


# --- new tensors -------------------------------------------------------------------------------


@rule("rand", "rand_like")
def rand(spec: TensorSpec, *rest: Any) -> Any:
    return rand_generator(spec, None, None)


@rule("rand.generator", "rand_like.generator")
def rand_generator(spec: TensorSpec, source: Any, generator: Any, *rest: Any) -> Any:
    stream = _source(generator)
    return _like_spec(spec, lambda shape: random.uniform(stream, shape, spec.dtype.numpy))


@rule("randn", "randn_like")
def randn(spec: TensorSpec, *rest: Any) -> Any:
    return randn_generator(spec, None, None)


@rule("randn.generator", "randn_like.generator")
def randn_generator(spec: TensorSpec, source: Any, generator: Any, *rest: Any) -> Any:
    return _normals(spec, generator, 0.0, 1.0)


@rule("normal.float_float")
def normal_new(
    spec: TensorSpec, mean: float, std: float, size: Any, generator: Any, *rest: Any
) -> Any:
    return _normals(spec, generator, mean, std)


def _normals(spec: TensorSpec, generator: Any, mean: float, std: float) -> Any:
    stream, dense = _source(generator), spec.is_contiguous()

    def sample(shape: tuple[int, ...]) -> Any:
        return random.normal(stream, shape, spec.dtype.numpy, mean, std, contiguous=dense)

    return _like_spec(spec, sample)


@rule("randint.low_generator")
def randint(
    spec: TensorSpec, low: int, high: int, size: Any, generator: Any, *rest: Any
) -> Any:  # fmt: skip
    return random.randint(_source(generator), spec.shape, spec.dtype.numpy, low, high)


@rule("randint_like.low_generator_dtype")
def randint_like(
    spec: TensorSpec, self: Any, low: int, high: int, generator: Any, *rest: Any
) -> Any:
    stream = _source(generator)
    return _like_spec(
        spec, lambda shape: random.randint(stream, shape, spec.dtype.numpy, low, high)
    )


@rule("randperm.generator")
def randperm(spec: TensorSpec, n: int, generator: Any, *rest: Any) -> Any:
    return random.randperm(_source(generator), n, spec.dtype.numpy)


# --- fills -------------------------------------------------------------------------------------


@rule("uniform")
def uniform(spec: Any, self: Any, low: float, high: float, generator: Any) -> Any:
    stream = _source(generator)
    return _like_array(self, lambda shape: random.uniform(stream, shape, self.dtype, low, high))


@rule("normal")
def normal(spec: Any, self: Any, mean: float, std: float, generator: Any) -> Any:
    stream, dense = _source(generator), self.flags.c_contiguous

    def sample(shape: tuple[int, ...]) -> Any:
        return random.normal(stream, shape, self.dtype, mean, std, contiguous=dense)

    return _like_array(self, sample)


@rule("log_normal")
def log_normal(spec: Any, self: Any, mean: float, std: float, generator: Any) -> Any:
    stream = _source(generator)
    return _like_array(self, lambda shape: random.log_normal(stream, shape, self.dtype, mean, std))


@rule("cauchy")
def cauchy(spec: Any, self: Any, median: float, sigma: float, generator: Any) -> Any:
    stream = _source(generator)
    return _like_array(self, lambda shape: random.cauchy(stream, shape, self.dtype, median, sigma))


@rule("exponential")
def exponential(spec: Any, self: Any, lambd: float, generator: Any) -> Any:
    stream = _source(generator)
    return _like_array(self, lambda shape: random.exponential(stream, shape, self.dtype, lambd))


@rule("geometric")
def geometric(spec: Any, self: Any, p: float, generator: Any) -> Any:
    stream = _source(generator)
    return _like_array(self, lambda shape: random.geometric(stream, shape, self.dtype, p))


@rule("random.from")
def random_from(spec: Any, self: Any, low: int, high: int | None, generator: Any) -> Any:
    stream = _source(generator)
    return _like_array(self, lambda shape: random.randint(stream, shape, self.dtype, low, high))


@rule("random.to")
def random_to(spec: Any, self: Any, high: int, generator: Any) -> Any:
    return random_from(spec, self, 0, high, generator)


@rule("random")
def random_whole(spec: Any, self: Any, generator: Any) -> Any:
    stream = _source(generator)
    return _like_array(self, lambda shape: random.random(stream, shape, self.dtype))


@rule("bernoulli.float", "bernoulli.p")
def bernoulli_float(spec: Any, self: Any, p: float, generator: Any) -> Any:
    stream = _source(generator)
    return _like_array(self, lambda shape: random.bernoulli(stream, shape, self.dtype, p))


@rule("bernoulli.Tensor")
def bernoulli_tensor(spec: Any, self: Any, p: Any, generator: Any) -> Any:
    order = random.fill_order(self.shape, self.strides)
    chances = numpy.broadcast_to(p, self.shape).transpose(order)
    walked = random.bernoulli_from(_source(generator), chances, self.dtype)
    return random.arrange(walked, self.shape, order)


@rule("bernoulli")
def bernoulli(spec: Any, self: Any, generator: Any) -> Any:
    return bernoulli_tensor(spec, self, self, generator)


# --- distributions -----------------------------------------------------------------------------


@rule("multinomial")
def multinomial(
    spec: Any, self: Any, num_samples: int, replacement: bool, generator: Any
) -> Any:  # fmt: skip
    return random.multinomial(_source(generator), self, num_samples, replacement)


@rule("poisson")
def poisson(spec: Any, self: Any, generator: Any) -> Any:
    return random.poisson(_source(generator), self)


@rule("binomial")
def binomial(spec: Any, count: Any, prob: Any, generator: Any) -> Any:
    counts = numpy.ascontiguousarray(numpy.broadcast_to(count, spec.shape))
    chances = numpy.ascontiguousarray(numpy.broadcast_to(prob, spec.shape))
    return random.binomial(_source(generator), counts, chances)


@rule("_standard_gamma")
def standard_gamma(spec: Any, self: Any, generator: Any) -> Any:
    return random.standard_gamma(_source(generator), self)


@rule("_sample_dirichlet")
def sample_dirichlet(spec: Any, self: Any, generator: Any) -> Any:
    return random.dirichlet(_source(generator), self)


def _scaled(spec: TensorSpec, mean: Any, std: Any, generator: Any) -> Any:
    """As PyTorch: standard samples first, then one product and one sum, each rounded."""
    if std.size and not (std >= 0).all():
        raise RuntimeError(
            "normal: expected all elements of std >= 0.0, got a negative one or NaN"
        )
    samples = _normals(spec, generator, 0.0, 1.0)
    return (samples * std.astype(samples.dtype)) + numpy.asarray(mean, samples.dtype)


@rule("normal.Tensor_float")
def normal_means(spec: TensorSpec, mean: Any, std: float, generator: Any) -> Any:
    return _normals(spec, generator, 0.0, std) + mean


@rule("normal.float_Tensor")
def normal_stds(spec: TensorSpec, mean: float, std: Any, generator: Any) -> Any:
    return _scaled(spec, mean, std, generator)


@rule("normal.Tensor_Tensor")
def normal_both(spec: TensorSpec, mean: Any, std: Any, generator: Any) -> Any:
    return _scaled(spec, mean, std, generator)
