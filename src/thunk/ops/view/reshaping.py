"""Views that regroup, broadcast or reorder dimensions."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import infer_size, wrap_dim, wrap_dims
from thunk.types.spec import TensorSpec, contiguous_strides


def view_strides(spec: TensorSpec, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides that show `spec`'s elements in `shape` without a copy, None if there are none."""
    if spec.numel == 0:
        return contiguous_strides(shape) if shape != spec.shape else spec.strides
    result = [0] * len(shape)
    view_dim = len(shape) - 1
    if not spec.shape:
        return (1,) * len(shape)
    chunk_stride = spec.strides[-1]
    tensor_numel = view_numel = 1
    for dim in range(len(spec.shape) - 1, -1, -1):
        tensor_numel *= spec.shape[dim]
        joined = dim > 0 and (
            spec.shape[dim - 1] == 1 or spec.strides[dim - 1] == tensor_numel * chunk_stride
        )
        if joined:
            continue
        while view_dim >= 0 and (view_numel < tensor_numel or shape[view_dim] == 1):
            result[view_dim] = view_numel * chunk_stride
            view_numel *= shape[view_dim]
            view_dim -= 1
        if view_numel != tensor_numel:
            return None
        if dim > 0:
            chunk_stride = spec.strides[dim - 1]
            tensor_numel = view_numel = 1
    return tuple(result) if view_dim == -1 else None


def _view(self: TensorSpec, size: Any) -> TensorSpec:
    shape = infer_size(size, self.numel)
    strides = view_strides(self, shape)
    if strides is None:
        raise Mismatch(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return self.window(shape, strides)


declare(
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    doc="The same elements, in row-major order, in another shape, without a copy.",
    spec=_view,
    vjp={"self": lambda grad, self_spec: t.reshape(grad, self_spec.shape)},
    view=True,
    variants="method",
)


@composite("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", variants="function method")
def reshape(self: Any, shape: tuple[int, ...]) -> Any:
    """The same elements in another shape; a view where strides allow it, else a copy."""
    try:
        shape = infer_size(shape, self._spec.numel)
    except Mismatch as mismatch:
        raise mismatch.named("reshape") from None
    if view_strides(self._spec, shape) is not None:
        return self.view(shape)
    return self.contiguous().view(shape)


def _permute(self: TensorSpec, dims: Any) -> TensorSpec:
    if len(dims) != self.ndim:
        raise Mismatch(
            f"number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = "
            f"{len(dims)}"
        )
    order = wrap_dims(dims, self.ndim)
    return self.window(
        tuple(self.shape[d] for d in order), tuple(self.strides[d] for d in order)
    )


def _permute_back(grad: Any, dims: Any) -> Any:
    inverse = [0] * len(dims)
    for position, dim in enumerate(dims):
        inverse[dim % len(dims)] = position
    return t.permute(grad, inverse)


declare(
    "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    doc="The dimensions in another order.",
    spec=_permute,
    vjp={"self": _permute_back},
    view=True,
)


def _transpose(self: TensorSpec, dim0: int, dim1: int) -> TensorSpec:
    first, second = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    order = list(range(self.ndim))
    if order:
        order[first], order[second] = order[second], order[first]
    return self.window(
        tuple(self.shape[d] for d in order), tuple(self.strides[d] for d in order)
    )


declare(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    doc="Two dimensions swapped.",
    spec=_transpose,
    vjp={"self": lambda grad, dim0, dim1: t.transpose(grad, dim0, dim1)},
    view=True,
    variants="function method",
)


def _expand(self: TensorSpec, size: Any, implicit: bool) -> TensorSpec:
    lead = len(size) - self.ndim
    if lead < 0:
        raise Mismatch(
            f"the number of sizes provided ({len(size)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({self.ndim})"
        )
    shape, strides = [], []
    for position, wanted in enumerate(size):
        have = self.shape[position - lead] if position >= lead else 1
        stride = self.strides[position - lead] if position >= lead else 0
        if wanted == -1:
            if position < lead:
                raise Mismatch(
                    f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, "
                    f"non-existing dimension {position}"
                )
            wanted = have
        elif wanted < 0:
            raise Mismatch(f"expected sizes that are not negative, got {list(size)}")
        elif have != wanted:
            if have != 1:
                raise Mismatch(
                    f"The expanded size of the tensor ({wanted}) must match the existing size "
                    f"({have}) at non-singleton dimension {position}. Target sizes: {list(size)}. "
                    f"Tensor sizes: {list(self.shape)}"
                )
            stride = 0
        shape.append(wanted)
        strides.append(stride)
    return self.window(tuple(shape), tuple(strides))


declare(
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    doc="Dimensions of size one repeated without a copy.",
    spec=_expand,
    vjp={"self": lambda grad: grad},  # the engine sums broadcast dimensions back
    view=True,
    variants="method",
)


def _unsqueeze(self: TensorSpec, dim: int) -> TensorSpec:
    place = wrap_dim(dim, self.ndim + 1)
    stride = self.shape[place] * self.strides[place] if place < self.ndim else 1
    shape = (*self.shape[:place], 1, *self.shape[place:])
    return self.window(shape, (*self.strides[:place], stride, *self.strides[place:]))


declare(
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    doc="A dimension of size one inserted.",
    spec=_unsqueeze,
    vjp={
        "self": lambda grad, dim: t.squeeze(grad, dim),
    },
    view=True,
    variants="function method inplace",
)


def _squeeze_all(self: TensorSpec) -> TensorSpec:
    kept = [d for d, size in enumerate(self.shape) if size != 1]
    return self.window(tuple(self.shape[d] for d in kept), tuple(self.strides[d] for d in kept))


def _squeeze_dims(self: TensorSpec, dim: Any) -> TensorSpec:
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    chosen = {wrap_dim(each, self.ndim) for each in dims}
    kept = [d for d, size in enumerate(self.shape) if not (d in chosen and size == 1)]
    return self.window(tuple(self.shape[d] for d in kept), tuple(self.strides[d] for d in kept))


_UNSQUEEZE = {"self": lambda grad, self_spec: t.reshape(grad, self_spec.shape)}

declare(
    "squeeze(Tensor(a) self) -> Tensor(a)",
    doc="Without the dimensions of size one.",
    spec=_squeeze_all,
    vjp=_UNSQUEEZE,
    view=True,
    variants="function method",
)
declare(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    doc="Without dimension `dim` if its size is one.",
    spec=_squeeze_dims,
    vjp=_UNSQUEEZE,
    view=True,
    variants="function method",
)
declare(
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    doc="Without those of `dim` whose size is one.",
    spec=_squeeze_dims,
    vjp=_UNSQUEEZE,
    view=True,
    variants="function method",
)
