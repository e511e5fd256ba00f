"""What distributions are written with: broadcasting, lazy attributes, probabilities and logits."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from thunk.autograd.modes import enable_grad
from thunk.ops.registry import t
from thunk.tensor.creation import tensor
from thunk.types.info import finfo
from thunk.types.promotion import get_default_dtype
from thunk.types.tensor_base import TensorBase

euler_constant = 0.57721566490153286060


def is_number(value: Any) -> bool:
    """Whether `value` is a Python number."""
    return isinstance(value, (bool, int, float))


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Tensors of one shape; numbers become tensors of the dtype of the first tensor."""
    first: Any = next((each for each in values if isinstance(each, TensorBase)), None)
    options: dict[str, Any] = {"dtype": get_default_dtype()}
    if first is not None:
        options = {"dtype": first.dtype, "device": first.device}
    made = []
    for each in values:
        if not isinstance(each, TensorBase) and not is_number(each):
            raise ValueError(
                f"broadcast_all: expected numbers and Tensors, got {type(each).__name__}"
            )
        made.append(each if isinstance(each, TensorBase) else tensor(each, **options))
    return tuple(t.broadcast_tensors(made))


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Any:
    return t.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last `dim` dimensions."""
    if dim == 0:
        return value
    return value.reshape(*value.shape[:-dim], -1).sum(-1)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities: of yes, or of each class along the last dimension."""
    return t.sigmoid(logits) if is_binary else t.softmax(logits, -1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities moved off 0 and 1, so that their logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Logarithms of odds, or of the probability of each class."""
    inside = clamp_probs(probs)
    logs = t.log(inside)
    return logs - t.log1p(-inside) if is_binary else logs


class lazy_property:
    """An attribute that is computed when first read, and then kept."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _lower_mask(size: int, diag: int, device: Any) -> Any:
    places = t.arange(size, device=device)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The elements on and below a diagonal, row after row."""
    size = mat.shape[-1]
    if diag < -size or diag >= size:
        raise ValueError(
            f"tril_matrix_to_vec: expected diag in [{-size}, {size - 1}], got {diag}"
        )
    return mat[..., _lower_mask(size, diag, mat.device)]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """The matrix whose elements on and below a diagonal are those of `vec`, zero above."""
    shift = 1 + 2 * diag
    count = vec.shape[-1]
    size = (-shift + math.sqrt(shift**2 + 8 * count + 4 * abs(diag) * (diag + 1))) / 2
    if round(size) - size > finfo(vec.dtype).eps:
        raise ValueError(
            f"vec_to_tril_matrix: expected as many elements as a triangle of a square has, got "
            f"{count}"
        )
    mat = vec.new_zeros((*vec.shape[:-1], round(size), round(size)))
    mat[..., _lower_mask(round(size), diag, vec.device)] = vec
    return mat
