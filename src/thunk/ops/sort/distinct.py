"""Distinct values or slices, with their inverse and counts."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ir.opdef import MissingGradient
from thunk.ops.declare import composite, declare
from thunk.ops.reduce.shapes import refuse_dtypes
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.spec import TensorSpec

_FLAGS = "bool return_inverse=False, bool return_counts=False"
_THREE = "(Tensor, Tensor, Tensor)"
_NOT_SMOOTH = MissingGradient("which values are distinct does not change smoothly")
_FACTS: dict[str, Any] = {"vjp": _NOT_SMOOTH, "dynamic_shape": True, "variants": ""}


def _flat(self: TensorSpec, *flags: bool) -> None:
    refuse_dtypes(self, "complex")


def _slices(self: TensorSpec, dim: int, *flags: bool) -> None:
    if not self.ndim:
        raise Mismatch(f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    position = wrap_dim(dim, self.ndim)
    refuse_dtypes(self, "complex")
    others = [size for d, size in enumerate(self.shape) if d != position]
    if 0 in others and self.shape[position]:
        raise Mismatch(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )


declare(
    f"_unique2(Tensor self, bool sorted=True, {_FLAGS}) -> {_THREE}",
    doc="The distinct values in ascending order, the place of each element's value, and counts.",
    spec=_flat,
    **_FACTS,
)
declare(
    f"unique_dim(Tensor self, int dim, bool sorted=True, {_FLAGS}) -> {_THREE}",
    doc="The distinct slices along a dimension in lexicographic order, inverse and counts.",
    spec=_slices,
    **_FACTS,
)
declare(
    f"_unique_consecutive(Tensor self, {_FLAGS}) -> {_THREE}",
    doc="The values without immediate repetitions, inverse and counts.",
    spec=_flat,
    **_FACTS,
)
declare(
    f"unique_dim_consecutive(Tensor self, int dim, {_FLAGS}) -> {_THREE}",
    doc="The slices along a dimension without immediate repetitions, inverse and counts.",
    spec=_slices,
    **_FACTS,
)


def _asked(found: tuple[Any, Any, Any], return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    if not return_inverse and not return_counts:
        return values
    parts = [values]
    if return_inverse:
        parts.append(inverse)
    if return_counts:
        parts.append(counts)
    return tuple(parts)


@composite(f"unique(Tensor self, bool sorted=True, {_FLAGS}, int? dim=None) -> ...")
def unique(
    self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct values or slices; with the inverse and the counts where asked for."""
    if dim is None:
        found = t._unique2(self, sorted, return_inverse, return_counts)
    else:
        found = t.unique_dim(self, dim, sorted, return_inverse, return_counts)
    return _asked(found, return_inverse, return_counts)


@composite(f"unique_consecutive(Tensor self, {_FLAGS}, int? dim=None) -> ...")
def unique_consecutive(
    self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The values or slices without repetitions; with inverse and counts where asked for."""
    if dim is None:
        found = t._unique_consecutive(self, return_inverse, return_counts)
    else:
        found = t.unique_dim_consecutive(self, dim, return_inverse, return_counts)
    return _asked(found, return_inverse, return_counts)
