"""Sliding windows over one dimension, and their adjoint."""

from __future__ import annotations

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.types.spec import TensorSpec, make_spec


def _unfold(self: TensorSpec, dimension: int, size: int, step: int) -> TensorSpec:
    place = wrap_dim(dimension, self.ndim)
    longest = self.shape[place] if self.ndim else 1
    if step <= 0:
        raise Mismatch(f"step is {step} but must be > 0")
    if size < 0:
        raise Mismatch(f"size is {size} but must be >= 0")
    if size > longest:
        raise Mismatch(
            f"maximum size for tensor at dimension {place} is {longest} but size is {size}"
        )
    if not self.ndim:
        return self.window((size,), (1,))
    stride = self.strides[place]
    shape = (*self.shape[:place], (longest - size) // step + 1, *self.shape[place + 1 :], size)
    strides = (*self.strides[:place], stride * step, *self.strides[place + 1 :], stride)
    return self.window(shape, strides)


declare(
    "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    doc="Windows of `size` at every `step` of `dimension`; positions in them come last.",
    spec=_unfold,
    vjp={
        "self": lambda grad, self_spec, dimension, size, step: t.unfold_backward(
            grad, self_spec.shape, dimension, size, step
        )
    },
    view=True,
    variants="method",
)

declare(
    "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
    doc="The sum of windows at the places `unfold` took them from.",
    spec=lambda grad_in, input_sizes, dim, size, step: make_spec(
        input_sizes, grad_in.dtype, grad_in.device
    ),
    vjp={"grad_in": lambda grad, dim, size, step: grad.unfold(dim, size, step)},
    variants="",
)
