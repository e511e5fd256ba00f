"""`out=` of samplers: the caller's tensor is filled where it lies, in its own dtype and order."""

from __future__ import annotations

import warnings
from typing import Any

from thunk.base.errors import expected
from thunk.dispatch.call import tensors_in
from thunk.dispatch.state import state
from thunk.ops.creation.factory import FACTORY
from thunk.ops.declare import composite
from thunk.ops.random.fills import GENERATOR
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.types.dtype import int64

_OUT = "Tensor(a!) out) -> Tensor(a!)"


def _target(out: Any, shape: Any, *others: Any, dtype: Any = None) -> Any:
    """`out` in the wanted shape, ready to be filled."""
    tensors: list[Any] = list(tensors_in((out, *others)))
    if state.grad_enabled and any(each.requires_grad for each in tensors):
        raise expected(
            "tensors without gradients",
            "one that requires grad: functions with out=... arguments don't support automatic "
            "differentiation",
        )
    if dtype is not None and dtype is not out._spec.dtype:
        raise expected(
            f"out of {dtype!r}", f"{out._spec.dtype!r}: dtype does not match dtype of out parameter"
        )
    if out._spec.shape != tuple(shape):
        if out._spec.numel:
            warnings.warn(
                f"expected out of shape {list(shape)}, got {list(out._spec.shape)}: an output with "
                "one or more elements was resized",
                UserWarning,
                stacklevel=2,
            )
        t.resize_(out, tuple(shape))
    return out


@composite(f"rand.out(SymInt[] size, *, {FACTORY}, {_OUT}", variants="function")
def rand_out(
    size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any
) -> Any:  # fmt: skip
    """Uniform numbers of [0, 1) in `out`."""
    return t.uniform_(_target(out, size, dtype=dtype), 0.0, 1.0)


@composite(
    f"rand.generator_out(SymInt[] size, *, Generator? generator, {FACTORY}, {_OUT}",
    variants="function",
)
def rand_generator_out(
    size: Any, generator: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any
) -> Any:
    """Uniform numbers of [0, 1) in `out`."""
    return t.uniform_(_target(out, size, dtype=dtype), 0.0, 1.0, generator=generator)


@composite(f"randn.out(SymInt[] size, *, {FACTORY}, {_OUT}", variants="function")
def randn_out(
    size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any
) -> Any:  # fmt: skip
    """Normal numbers in `out`."""
    return t.normal_(_target(out, size, dtype=dtype), 0.0, 1.0)


@composite(
    f"randn.generator_out(SymInt[] size, *, Generator? generator, {FACTORY}, {_OUT}",
    variants="function",
)
def randn_generator_out(
    size: Any, generator: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any
) -> Any:
    """Normal numbers in `out`."""
    return t.normal_(_target(out, size, dtype=dtype), 0.0, 1.0, generator=generator)


@composite(
    f"normal.float_float_out(float mean, float std, SymInt[] size, *, {GENERATOR}, {FACTORY}, "
    f"{_OUT}",
    variants="function",
)
def normal_out(
    mean: float, std: float, size: Any, generator: Any, dtype: Any, layout: Any, device: Any,
    pin_memory: Any, out: Any,
) -> Any:  # fmt: skip
    """Normal numbers in `out`."""
    return t.normal_(_target(out, size, dtype=dtype), mean, std, generator=generator)


@composite(
    f"normal.Tensor_float_out(Tensor mean, float std=1, *, {GENERATOR}, {_OUT}",
    variants="function",
)
def normal_means_out(mean: Any, std: float, generator: Any, out: Any) -> Any:
    """Normal numbers of the means `mean` in `out`."""
    target = _target(out, mean._spec.shape, mean)
    return t.normal_(target, 0.0, std, generator=generator).add_(mean)


@composite(
    f"normal.float_Tensor_out(float mean, Tensor std, *, {GENERATOR}, {_OUT}", variants="function"
)
def normal_stds_out(mean: float, std: Any, generator: Any, out: Any) -> Any:
    """Normal numbers of the standard deviations `std` in `out`."""
    _check_std(std)
    target = _target(out, std._spec.shape, std)
    return t.normal_(target, 0.0, 1.0, generator=generator).mul_(std).add_(mean)


@composite(
    f"normal.Tensor_Tensor_out(Tensor mean, Tensor std, *, {GENERATOR}, {_OUT}",
    variants="function",
)
def normal_both_out(mean: Any, std: Any, generator: Any, out: Any) -> Any:
    """Normal numbers of the means `mean` and standard deviations `std` in `out`."""
    _check_std(std)
    shape = broadcast_shapes([mean._spec.shape, std._spec.shape])
    target = _target(out, shape, mean, std)
    return t.normal_(target, 0.0, 1.0, generator=generator).mul_(std).add_(mean)


def _check_std(std: Any) -> None:
    if std._spec.dtype.is_complex:
        raise expected("a standard deviation of a real dtype", repr(std._spec.dtype))
    if std._spec.numel and not bool((std >= 0).all()):
        raise expected("all elements of std >= 0.0", "a negative one or NaN")


@composite(f"bernoulli.out(Tensor self, *, {GENERATOR}, {_OUT}", variants="function")
def bernoulli_out(self: Any, generator: Any, out: Any) -> Any:
    """Ones with the probabilities `self`, else zeros, in `out`."""
    return t.bernoulli_(_target(out, self._spec.shape, self), self, generator=generator)


@composite(
    f"multinomial.out(Tensor self, SymInt num_samples, bool replacement=False, *, {GENERATOR}, "
    f"{_OUT}",
    variants="function",
)
def multinomial_out(
    self: Any, num_samples: int, replacement: bool, generator: Any, out: Any
) -> Any:  # fmt: skip
    """Categories drawn with the weights of each row, in `out`."""
    if out._spec.dtype is not int64:
        raise expected("out of torch.int64", f"{out._spec.dtype!r}: expects Long tensor out")
    drawn = t.multinomial(self, num_samples, replacement, generator=generator)
    return _target(out, drawn._spec.shape, self).copy_(drawn)
