"""Enters: a tensor. Leaves: the same tensor, filled in place by one of the usual rules.

Invariant: nothing is recorded, and the generator is used as in PyTorch: one seed, equal values.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.nn.init_fans import calculate_gain, fan_of, fans
from thunk.nn.init_truncated import fill_truncated
from thunk.ops.registry import t

# Code outside PyTorch calls these by their names there, underscores and all.
_calculate_fan_in_and_fan_out = fans
_calculate_correct_fan = fan_of


def _no_grad_uniform_(tensor: Any, low: float, high: float, generator: Any) -> Any:
    with no_grad_recording():
        return tensor.uniform_(low, high, generator=generator)


def _no_grad_normal_(tensor: Any, mean: float, std: float, generator: Any) -> Any:
    with no_grad_recording():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor: Any, val: float) -> Any:
    with no_grad_recording():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Any) -> Any:
    with no_grad_recording():
        return tensor.zero_()


_no_grad_trunc_normal_ = fill_truncated


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill with uniform values from [a, b)."""
    return _no_grad_uniform_(tensor, a, b, generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill with normal values."""
    return _no_grad_normal_(tensor, mean, std, generator)


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Any = None,
) -> Any:  # fmt: skip
    """Fill with normal values, drawn again while they lie outside [a, b]."""
    return fill_truncated(tensor, mean, std, a, b, generator)


def constant_(tensor: Any, val: float) -> Any:
    """Fill with one value."""
    return _no_grad_fill_(tensor, val)


def ones_(tensor: Any) -> Any:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Fill with zeros."""
    return _no_grad_zero_(tensor)


def eye_(tensor: Any) -> Any:
    """Make a matrix the identity, as far as it reaches."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    with no_grad_recording():
        tensor.copy_(t.eye(rows, columns, dtype=tensor.dtype, device=tensor.device))
    return tensor


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Make a convolution's weight hand its input channels through."""
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs, *kernel = tensor.size()
    if outputs % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    each = outputs // groups
    centre = tuple(size // 2 for size in kernel)
    with no_grad_recording():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(each, inputs)):
                tensor[(group * each + channel, channel, *centre)] = 1
    return tensor


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Uniform values whose variance suits both directions (Glorot and Bengio, 2010)."""
    fan_in, fan_out = fans(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal values whose variance suits both directions (Glorot and Bengio, 2010)."""
    fan_in, fan_out = fans(tensor)
    return _no_grad_normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = fan_of(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Any:  # fmt: skip
    """Uniform values whose variance suits rectifiers (He et al., 2015)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Any:  # fmt: skip
    """Normal values whose variance suits rectifiers (He et al., 2015)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else _no_grad_normal_(tensor, 0, std, generator)


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """A (semi) orthogonal matrix, trailing dimensions taken together (Saxe et al., 2013)."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad_recording():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = t.linalg_qr(drawn.t() if rows < columns else drawn)
        # The signs of the diagonal make the factorization unique, and the result uniform.
        q = q * t.diagonal(r).sign()
        tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal values with a share of zeros in every column (Martens, 2010)."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad_recording():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[t.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The name without underscore, from before such names said that they write in place."""
    new_name = function.__name__
    old_name = new_name[:-1]

    @functools.wraps(function)
    def old(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    old.__name__ = old_name
    return old


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
