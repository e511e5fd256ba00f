"""Elements picked by rank or by frequency: median, k-th smallest, most frequent."""

from __future__ import annotations

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.reduce.shapes import evenly_among_equals, picks, refuse_dtypes, selection
from thunk.ops.rules.dims import wrap_dim
from thunk.types.spec import TensorSpec, make_spec

_FORMS = "function method out"


def _whole(self: TensorSpec) -> TensorSpec:
    refuse_dtypes(self, "bool", "complex", "wide unsigned")
    return make_spec((), self.dtype, self.device)


def _ranked(self: TensorSpec, dim: int, keepdim: bool) -> tuple[TensorSpec, TensorSpec]:
    refuse_dtypes(self, "bool", "complex", "wide unsigned")
    return selection(self, dim, keepdim)


def _declare_median(name: str, doc: str) -> None:
    declare(
        f"{name}(Tensor self) -> Tensor",
        doc=f"The lower median of all elements{doc}.",
        spec=_whole,
        vjp={"self": evenly_among_equals},
        variants="function method",
    )
    declare(
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        doc=f"The lower median along one dimension{doc}, and its index.",
        spec=_ranked,
        vjp=picks("self"),
        variants=_FORMS,
    )


_declare_median("median", "; NaN if there is one")
_declare_median("nanmedian", " that are not NaN")


def _kth(self: TensorSpec, k: int, dim: int, keepdim: bool) -> tuple[TensorSpec, TensorSpec]:
    found = _ranked(self, dim, keepdim)
    size = self.shape[wrap_dim(dim, self.ndim)] if self.ndim else 1
    if not 1 <= k <= size:
        raise Mismatch(f"selected number k out of range: expected 1 to {size}, got {k}")
    return found


declare(
    "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False)"
    " -> (Tensor values, Tensor indices)",
    doc="The k-th smallest element along one dimension, and its index.",
    spec=_kth,
    vjp=picks("self"),
    variants="function method out apart",
)


def _mode(self: TensorSpec, dim: int, keepdim: bool) -> tuple[TensorSpec, TensorSpec]:
    refuse_dtypes(self, "complex", "wide unsigned")
    return selection(self, dim, keepdim)


declare(
    "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    doc="The most frequent value along one dimension (the smallest of several) and its index.",
    spec=_mode,
    vjp=picks("self"),
    variants=_FORMS,
)
