"""Softmax under the names and signatures of `torch.nn.functional`."""

from __future__ import annotations

import warnings
from typing import Any

from thunk.ops import families
from thunk.ops.registry import t

__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]

DECLARED = families.FAMILIES


def _dimension(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The softmax of the negated input."""
    if dim is None:
        dim = _dimension("softmin", input.dim(), _stacklevel)
    return t.softmax(-input, dim, dtype=dtype)


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`exp(input)` divided by its sum along a dimension."""
    if dim is None:
        dim = _dimension("softmax", input.dim(), _stacklevel)
    return t.softmax(input, dim, dtype=dtype)


def log_softmax(
    input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Any:
    """The logarithm of the softmax along a dimension."""
    if dim is None:
        dim = _dimension("log_softmax", input.dim(), _stacklevel)
    return t.log_softmax(input, dim, dtype=dtype)


def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """Samples of categories, relaxed; with `hard`, whole ones that pass the relaxed gradient on."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    shape, element = logits.shape, logits.dtype
    waiting = t.empty(shape, dtype=element, device=logits.device).exponential_()
    soft = t.softmax((logits - waiting.log()) / tau, dim)
    if not hard:
        return soft
    index = t.argmax(soft.detach(), dim, keepdim=True)
    zeros = t.zeros(shape, dtype=element, device=logits.device)
    whole = t.scatter(zeros, dim, index, 1.0)
    return whole - soft.detach() + soft
