"""Enters: parameters with gradients. Leaves: their gradients, held below a norm or a value.

Invariant: nothing waits for a value unless `error_if_nonfinite` asks for one, so clipping is part
of the step it stands in.
"""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.ops.registry import t
from thunk.types.tensor_base import TensorBase


def _unrecorded(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with no_grad_recording():
            return function(*args, **kwargs)

    return wrapped


def _as_list(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, TensorBase) else list(tensors)


def _gradients(parameters: Iterable[Any]) -> list[Any]:
    return [gradient for each in parameters if (gradient := each.grad) is not None]


@_unrecorded
def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:  # fmt: skip
    """The norm of all tensors as if they were one vector."""
    given = _as_list(tensors)
    order = float(norm_type)
    if not given:
        return t.zeros(())
    norms = [t.linalg_vector_norm(each, order).to(given[0].device) for each in given]
    total = t.linalg_vector_norm(t.stack(norms), order)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite "
            "norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@_unrecorded
def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None
) -> None:
    """Scale all gradients by `max_norm / total_norm`, if that is below one."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in _gradients(_as_list(parameters)):
        gradient.mul_(factor.to(gradient.device))


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:  # fmt: skip
    """Scale all gradients so that their norm is at most `max_norm`; returns the norm before."""
    given = _as_list(parameters)
    if not given and isinstance(parameters, types.GeneratorType):
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2
        )
    total = get_total_norm(_gradients(given), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:  # fmt: skip
    """The old name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@_unrecorded
def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Hold every element of every gradient between `-clip_value` and `clip_value`."""
    bound = float(clip_value)
    for gradient in _gradients(_as_list(parameters)):
        gradient.clamp_(-bound, bound)
