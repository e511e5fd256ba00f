"""Norms of matrices, condition numbers and ranks."""

from __future__ import annotations

import math
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite
from thunk.ops.linalg.checks import expect_matrices
from thunk.ops.linalg.lstsq import bound_of, tolerances
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.dtype import int64

_FACTS: dict[str, Any] = {"variants": "function out", "module": "linalg"}
_KNOWN_ORDERS = "use 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'"
_NORM = "int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
_MATRIX = "int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"


@composite(f"linalg_norm(Tensor self, Scalar? ord=None, {_NORM}", static="ord", **_FACTS)
def linalg_norm(
    self: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """A norm of vectors or of matrices, as `dim` and the rank of `self` tell."""
    if dim is not None and len(dim) not in (1, 2):
        raise Mismatch(f"If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is None:
        return t.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
    ndim = self._spec.ndim
    if dim is None and ndim not in (1, 2):
        raise Mismatch(
            f"If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D."
        )
    if (dim is not None and len(dim) == 2) or (dim is None and ndim == 2):
        return t.linalg_matrix_norm(self, ord, dim or (0, 1), keepdim, dtype=dtype)
    return t.linalg_vector_norm(self, ord, dim, keepdim, dtype=dtype)


@composite(f"linalg_norm.ord_str(Tensor self, str ord, {_NORM}", **_FACTS)
def linalg_norm_named(
    self: Any, ord: str, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """The Frobenius or the nuclear norm of matrices."""
    if dim is not None and len(dim) not in (1, 2):
        raise Mismatch(f"If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    ndim = self._spec.ndim
    if dim is None and ndim != 2:
        raise Mismatch(f"If dim is not specified but ord is, the input must be 2D. Got {ndim}D.")
    return t.linalg_matrix_norm(self, ord, dim or (0, 1), keepdim, dtype=dtype)


def _two_dims(self: Any, dim: Any) -> tuple[int, int]:
    spec = self._spec
    expect_matrices(spec)
    if not spec.dtype.is_inexact:
        raise Mismatch(
            f"Expected a floating point or complex tensor as input. Got {spec.dtype!r}; convert it"
        )
    if len(dim) != 2:
        raise Mismatch(f"dim must be a 2-tuple. Got {list(dim)}")
    first, second = wrap_dim(dim[0], spec.ndim), wrap_dim(dim[1], spec.ndim)
    if first == second:
        raise Mismatch(f"dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


@composite(f"linalg_matrix_norm(Tensor self, Scalar ord, {_MATRIX}", static="ord", **_FACTS)
def linalg_matrix_norm(
    self: Any, ord: Any, dim: Any = (-2, -1), keepdim: bool = False, dtype: Any = None
) -> Any:
    """The norm of order 1, 2, infinity or one of their negatives of matrices."""
    first, second = _two_dims(self, dim)
    size = abs(ord)
    if size not in (1, 2, math.inf):
        raise Mismatch(f"Order {ord} not supported; {_KNOWN_ORDERS}")
    pick = _largest if ord > 0 else t.amin
    if size == 2:
        values = t.linalg_svdvals(_last_two(_as(self, dtype), first, second))
        found = pick(values, -1, False)
        return _restored(found, self._spec.ndim, first, second) if keepdim else found
    if size == math.inf:
        first, second = second, first
    sums = t.linalg_vector_norm(self, 1, (first,), keepdim, dtype=dtype)
    if not keepdim and first < second:
        second -= 1
    return pick(sums, second, keepdim)


@composite(f'linalg_matrix_norm.str_ord(Tensor self, str ord="fro", {_MATRIX}', **_FACTS)
def linalg_matrix_norm_named(
    self: Any, ord: str = "fro", dim: Any = (-2, -1), keepdim: bool = False, dtype: Any = None
) -> Any:
    """The Frobenius or the nuclear norm of matrices."""
    first, second = _two_dims(self, dim)
    if ord not in ("fro", "nuc"):
        raise Mismatch(f"Order {ord} not supported; use 'fro' or 'nuc'")
    if ord == "fro":
        return t.linalg_vector_norm(self, 2, (first, second), keepdim, dtype=dtype)
    values = t.linalg_svdvals(_last_two(_as(self, dtype), first, second))
    found = t.sum(values, -1)
    return _restored(found, self._spec.ndim, first, second) if keepdim else found


def _largest(values: Any, dim: int, keepdim: bool) -> Any:
    """The largest number of a dimension; of none, 0."""
    pick = t.amax if values._spec.shape[dim] else t.sum
    return pick(values, dim, keepdim)


def _as(self: Any, dtype: Any) -> Any:
    return self if dtype is None else self.to(dtype)


def _last_two(self: Any, first: int, second: int) -> Any:
    rest = [d for d in range(self._spec.ndim) if d not in (first, second)]
    return t.permute(self, [*rest, first, second])


def _restored(found: Any, ndim: int, first: int, second: int) -> Any:
    """The reduced dimensions back as ones."""
    for dim in sorted((first, second)):
        found = t.unsqueeze(found, dim)
    return found


@composite("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", variants="function out")
def nuclear_norm(self: Any, keepdim: bool = False) -> Any:
    """The sum of the singular values."""
    return t.linalg_matrix_norm(self, "nuc", (-2, -1), keepdim)


@composite(
    "nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    variants="function out",
)
def nuclear_norm_dims(self: Any, dim: Any, keepdim: bool = False) -> Any:
    """The sum of the singular values."""
    return t.linalg_matrix_norm(self, "nuc", dim, keepdim)


@composite(
    "frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    variants="function out",
)
def frobenius_norm(self: Any, dim: Any, keepdim: bool = False) -> Any:
    """The square root of the sum of squares."""
    return t.linalg_vector_norm(self, 2, dim, keepdim)


@composite("linalg_cond(Tensor self, Scalar? p=None) -> Tensor", static="p", **_FACTS)
def linalg_cond(self: Any, p: Any = None) -> Any:
    """The condition number: the norm times the norm of the inverse."""
    expect_matrices(self._spec)
    if p is not None and abs(p) not in (1, 2, math.inf):
        raise Mismatch(f"got an invalid norm type: {p}; {_KNOWN_ORDERS}")
    if p is None or abs(p) == 2:
        values = t.linalg_svdvals(self)
        if not self._spec.numel:
            return t.zeros(self._spec.shape[:-2], dtype=values._spec.dtype)
        largest, smallest = t.select(values, -1, 0), t.select(values, -1, -1)
        return smallest / largest if p == -2 else largest / smallest
    return _by_inverse(self, p)


@composite("linalg_cond.p_str(Tensor self, str p) -> Tensor", **_FACTS)
def linalg_cond_named(self: Any, p: str) -> Any:
    """The condition number in the Frobenius or the nuclear norm."""
    expect_matrices(self._spec)
    if p not in ("fro", "nuc"):
        raise Mismatch(f"got an invalid norm type: {p}; {_KNOWN_ORDERS}")
    if p == "nuc":
        values = t.linalg_svdvals(self)
        return t.sum(values, -1) * t.sum(t.reciprocal(values), -1)
    return _by_inverse(self, p)


def _by_inverse(self: Any, p: Any) -> Any:
    spec = self._spec
    if spec.shape[-1] != spec.shape[-2]:
        raise Mismatch(
            f"with p={p!r} A must be batches of square matrices, but they are "
            f"{spec.shape[-2]} by {spec.shape[-1]} matrices"
        )
    if not spec.numel:
        return t.zeros(spec.shape[:-2], dtype=spec.dtype.to_real(), device=spec.device)
    inverse, info = t.linalg_inv_ex(self)
    product = t.linalg_matrix_norm(self, p) * t.linalg_matrix_norm(inverse, p)
    # A singular matrix is infinitely ill-conditioned.
    return t.where(t.gt(info, 0), t.full_like(product, math.inf), product)


def _rank(self: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    spec = self._spec
    expect_matrices(spec, "input")
    for name, bound in (("atol", atol), ("rtol", rtol)):
        if hasattr(bound, "_spec") and bound._spec.dtype.is_complex:
            raise Mismatch(f"{name} tensor of complex type is not supported, got complex")
    if not spec.numel:
        return t.zeros(spec.shape[:-2], dtype=int64, device=spec.device)
    atol, rtol = tolerances(self, atol, rtol)
    if hermitian:
        values = t.abs(t.linalg_eigvalsh(self))
        largest = t.amax(values, -1, keepdim=True)
    else:
        values = t.linalg_svdvals(self)
        largest = t.narrow(values, -1, 0, 1)
    return t.sum(t.gt(values, bound_of(largest, atol, rtol)), -1)


@composite(
    "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, "
    "bool hermitian=False) -> Tensor",
    numbers="atol rtol",
    **_FACTS,
)
def linalg_matrix_rank(
    input: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Any:
    """The number of singular values above max(atol, rtol * largest)."""
    return _rank(input, atol, rtol, hermitian)


@composite("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", **_FACTS)
def linalg_matrix_rank_above(self: Any, tol: float, hermitian: bool = False) -> Any:
    """The number of singular values above `tol`."""
    return _rank(self, tol, 0.0, hermitian)


@composite(
    "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    **_FACTS,
)
def linalg_matrix_rank_above_tensor(input: Any, tol: Any, hermitian: bool = False) -> Any:
    """The number of singular values above `tol`."""
    return _rank(input, tol, 0.0, hermitian)
