"""Enters: a weight. Leaves: the weight with a norm of one, or with a norm of its own parameter."""

from __future__ import annotations

from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.nn.functional.norm import normalize
from thunk.nn.modules.module import Module
from thunk.nn.utils.spectral_norm import as_matrix
from thunk.nn.utils.weight_norm import normed
from thunk.ops.registry import t


class _WeightNorm(Module):
    """A weight from its length and its direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        """The weight."""
        return normed(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        """Length and direction."""
        return t.norm_except_dim(weight, 2, self.dim), weight


class _SpectralNorm(Module):
    """A weight divided by an estimate of its largest singular value."""

    def __init__(
        self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            with no_grad_recording():
                matrix = as_matrix(weight, self.dim)
                rows, columns = matrix.size()
                self.register_buffer("_u", self._drawn(matrix, rows))
                self.register_buffer("_v", self._drawn(matrix, columns))
                self._improve(matrix, 15)

    def _drawn(self, like: Any, size: int) -> Any:
        return normalize(like.new_empty((size,)).normal_(0, 1), dim=0, eps=self.eps)

    def _improve(self, matrix: Any, times: int) -> None:
        with no_grad_recording():
            for _ in range(times):
                self._u.copy_(normalize(t.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(t.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        """The weight, with better estimates in training mode."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._improve(matrix, self.n_power_iterations)
        # The next forward writes to the buffers; backward needs the values of this one.
        left, right = self._u.clone(), self._v.clone()
        return weight / t.vdot(left, t.mv(matrix, right))

    def right_inverse(self, value: Any) -> Any:
        """The value: a matrix whose norm is one stays as it is."""
        return value
