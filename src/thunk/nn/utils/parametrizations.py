"""Enters: a module with a weight. Leaves: the module with the weight parametrised in a known way.

Invariant: each function registers one parametrization and returns the module.
"""

from __future__ import annotations

from typing import Any

from thunk.nn.utils.orthogonal import OrthogonalMap, _Orthogonal
from thunk.nn.utils.parametrization_norms import _SpectralNorm, _WeightNorm
from thunk.nn.utils.parametrize import register_parametrization
from thunk.nn.utils.spectral_norm import default_dim
from thunk.types.tensor_base import TensorBase

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *,
    use_trivialization: bool = True,
) -> Any:  # fmt: skip
    """Keep a matrix (or batch of them) orthogonal, or unitary."""
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in OrthogonalMap.__members__:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    kind = OrthogonalMap[orthogonal_map]
    made = _Orthogonal(weight, kind, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Train a weight's length (`original0`) and direction (`original1`) separately."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *_: Any) -> None:
        """State dicts of the older `weight_norm` have other names."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for place, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{place}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Divide a weight by an estimate of its largest singular value."""
    weight = _tensor_of(module, name)
    where = default_dim(module) if dim is None else dim
    made = _SpectralNorm(weight, n_power_iterations, where, eps)
    return register_parametrization(module, name, made)


def _tensor_of(module: Any, name: str) -> Any:
    weight = getattr(module, name, None)
    if not isinstance(weight, TensorBase):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight
