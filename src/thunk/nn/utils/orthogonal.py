"""Enters: any matrix. Leaves: an orthogonal one, by one of three maps.

Invariant: the result has orthonormal columns, or rows if it is wide; a `base`, if there is one, is
the point around which the matrix is mapped, so that assigning moves the base.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.nn.modules.module import Module
from thunk.ops.registry import t
from thunk.types.info import finfo


class OrthogonalMap(Enum):
    """How a matrix becomes orthogonal."""

    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(matrix: Any) -> bool:
    rows, columns = matrix.shape[-2:]
    identity = t.eye(columns, dtype=matrix.dtype, device=matrix.device)
    tolerance = 10.0 * rows * finfo(matrix.dtype).eps
    return bool(t.allclose(matrix.mH @ matrix, identity, atol=tolerance))


def _made_orthogonal(matrix: Any) -> Any:
    """The orthogonal factor whose triangular partner has a positive diagonal."""
    reflections, factors = t.geqrf(matrix)
    orthogonal = t.linalg_householder_product(reflections, factors)
    signs = reflections.diagonal(0, -2, -1).sgn()
    return orthogonal * signs.unsqueeze(-2)


class _Orthogonal(Module):
    """The map, and its inverse as far as there is one."""

    base: Any

    def __init__(
        self, weight: Any, orthogonal_map: OrthogonalMap, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is OrthogonalMap.householder:
            raise ValueError(
                "The householder parametrization does not support complex tensors."
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        """The orthogonal matrix."""
        rows, columns = X.shape[-2:]
        wide = rows < columns
        tall = X.mT if wide else X
        if self.orthogonal_map is OrthogonalMap.householder:
            result = _reflected(tall)
        else:
            result = self._rotated(tall)
        if hasattr(self, "base"):
            result = self.base @ result
        return result.mT if wide else result

    def _rotated(self, tall: Any) -> Any:
        """The image of the skew matrix made of the lower triangle."""
        rows, columns = tall.shape[-2:]
        lower = tall.tril()
        if rows != columns:
            zeros = lower.new_zeros((*lower.shape[:-2], rows, rows - columns))
            lower = t.cat([lower, zeros], dim=-1)
        skew = lower - lower.mH
        if self.orthogonal_map is OrthogonalMap.matrix_exp:
            result = t.matrix_exp(skew)
        else:
            identity = t.eye(rows, dtype=skew.dtype, device=skew.device)
            result = t.linalg_solve(identity - 0.5 * skew, identity + 0.5 * skew)
        return result[..., :columns] if rows != columns else result

    def right_inverse(self, Q: Any) -> Any:
        """What maps to `Q`; without a base only reflections have an inverse."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}."
            )
        rows, columns = Q.shape[-2:]
        with no_grad_recording():
            tall = Q.mT if rows < columns else Q
            if hasattr(self, "base"):
                self.base = _completed(tall)
                zero = t.zeros_like(Q)
                zero.diagonal(0, -2, -1).fill_(-1.0)
                return zero
            if self.orthogonal_map is not OrthogonalMap.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            found = _reflections_of(tall)
            return found.mT if rows < columns else found


def _reflected(tall: Any) -> Any:
    """The product of the reflections in the columns below the diagonal, signed by the diagonal."""
    below = tall.tril(-1)
    factors = 2.0 / (1.0 + (below * below).sum(dim=-2))
    product = t.linalg_householder_product(below, factors)
    return product * tall.diagonal(0, -2, -1).int().unsqueeze(-2)


def _reflections_of(tall: Any) -> Any:
    reflections, factors = t.geqrf(tall)
    diagonal = reflections.diagonal(0, -2, -1)
    signs = diagonal.sign()
    diagonal.copy_(t.where(factors == 0.0, -signs, signs))
    return reflections


def _completed(tall: Any) -> Any:
    """A square orthogonal matrix that starts with the columns of `tall`."""
    rows, columns = tall.shape[-2:]
    if rows == columns:
        return tall.clone() if _is_orthogonal(tall) else _made_orthogonal(tall)
    shape = (*tall.shape[:-2], rows, rows - columns)
    drawn = t.randn(shape, dtype=tall.dtype, device=tall.device)
    return _made_orthogonal(t.cat([tall, drawn], dim=-1))
