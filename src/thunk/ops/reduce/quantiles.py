"""Quantiles: sort, find the rank, interpolate between the neighbours."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch, expected
from thunk.ops.declare import composite
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.dtype import float32, float64, int64
from thunk.types.spec import TensorSpec

_ARGUMENTS = 'int? dim=None, bool keepdim=False, *, str interpolation="linear"'
_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
_FACTS: dict[str, Any] = {"variants": "function method out", "autocast": "float32"}


def _check_input(spec: TensorSpec, interpolation: str) -> None:
    if interpolation not in _INTERPOLATIONS:
        raise expected(f"interpolation to be one of {_INTERPOLATIONS}", repr(interpolation))
    if not spec.numel:
        raise expected("a non-empty tensor", f"shape {list(spec.shape)}")
    if spec.dtype not in (float32, float64):
        raise expected("a tensor of dtype float32 or float64", repr(spec.dtype), "convert it")


def _check_ranks(spec: TensorSpec, q: Any) -> None:
    if q._spec.ndim > 1:
        raise expected("q to be a scalar or 1D tensor", f"{q._spec.ndim} dimensions")
    if q._spec.dtype is not spec.dtype:
        raise expected("q of the tensor's dtype", repr(q._spec.dtype), f"use {spec.dtype!r}")
    inside = t.logical_and(t.ge(q, 0), t.le(q, 1))
    if q._spec.numel and q._spec.device.type != "meta" and not bool(t.all(inside)):
        raise Mismatch("q values must be in the range [0, 1]")


def _sorted_last(self: Any, dim: int | None) -> Any:
    """The values in ascending order along a last dimension."""
    if dim is None:
        return t.sort(t.reshape(self, [-1]), -1)[0]
    if not self._spec.ndim:
        return t.unsqueeze(self, 0)
    return t.sort(t.movedim(self, dim, -1), -1)[0]


def _ranks(ordered: Any, q: Any, ignore_nan: bool) -> Any:
    """Fractional positions of the quantiles, the last one where a NaN must come out."""
    last = ordered._spec.shape[-1] - 1
    missing = t.isnan(ordered)
    if ignore_nan:
        present = t.sum(t.logical_not(missing), -1, True)
        rank = q * (present - 1).to(q._spec.dtype)
        return t.masked_fill(rank, t.lt(rank, 0), 0)
    spoilt = t.any(missing, -1, True)
    return t.masked_fill(q * last, spoilt, last)


def _at_ranks(ordered: Any, rank: Any, interpolation: str) -> Any:
    rounding = {"lower": "floor", "higher": "ceil", "nearest": "round"}.get(interpolation)
    if rounding is not None:
        rank = getattr(t, rounding)(rank)
    below = rank.detach().to(int64)
    values = t.gather(ordered, -1, below)
    if rounding is not None:
        return values
    above = t.gather(ordered, -1, t.ceil(rank.detach()).to(int64))
    weight = t.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below
    return t.lerp(values, above, weight)


def _quantiles(name: str, self: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
    spec = self._spec
    try:
        _check_input(spec, interpolation)
        position = None if dim is None else wrap_dim(dim, spec.ndim)
        if isinstance(q, float):
            if not 0 <= q <= 1:
                raise expected("q to be in the range [0, 1]", q)
            q = t.full((), q, dtype=spec.dtype, device=spec.device)
        else:
            _check_ranks(spec, q)
    except Mismatch as mismatch:
        raise mismatch.named(name) from None
    ordered = _sorted_last(self, position)
    rank = _ranks(ordered, t.reshape(q, [-1]), ignore_nan=name == "nanquantile")
    values = t.movedim(_at_ranks(ordered, rank, interpolation), -1, 0)
    return _laid_out(values, spec, q._spec, position, keepdim)


def _laid_out(values: Any, spec: TensorSpec, q: TensorSpec, dim: int | None, keepdim: bool) -> Any:
    """From (quantiles, kept dimensions...) to PyTorch's shape of the result."""
    if keepdim and spec.ndim:
        if dim is None:
            values = t.reshape(values, [values._spec.shape[0], *[1] * spec.ndim])
        else:
            values = t.unsqueeze(values, dim + 1)
    return values if q.ndim else t.squeeze(values, 0)


def _declare_quantile(name: str, doc: str) -> None:
    def many(
        self: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Any:
        return _quantiles(name, self, q, dim, keepdim, interpolation)

    composite(f"{name}(Tensor self, Tensor q, {_ARGUMENTS}) -> Tensor", doc=doc, **_FACTS)(many)
    composite(
        f"{name}.scalar(Tensor self, float q, {_ARGUMENTS}) -> Tensor",
        doc=doc, static="q", **_FACTS,
    )(many)  # fmt: skip


_declare_quantile("quantile", "The values below which the fractions `q` of the elements lie.")
_declare_quantile("nanquantile", "As `quantile`, of the elements that are not NaN.")
