"""Views that reorder dimensions: permutations, transposes and their many names."""

from __future__ import annotations

import warnings
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import alias, composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim, wrap_dims
from thunk.types.spec import TensorSpec


def _reordered(self: TensorSpec, order: Any) -> TensorSpec:
    return self.window(tuple(self.shape[d] for d in order), tuple(self.strides[d] for d in order))


def _permute(self: TensorSpec, dims: Any) -> TensorSpec:
    if len(dims) != self.ndim:
        raise Mismatch(
            f"number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = "
            f"{len(dims)}"
        )
    return _reordered(self, wrap_dims(dims, self.ndim))


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


def _swapped(ndim: int, first: int, second: int) -> list[int]:
    order = list(range(ndim))
    if order:
        order[first], order[second] = order[second], order[first]
    return order


def _transpose(self: TensorSpec, dim0: int, dim1: int) -> TensorSpec:
    first, second = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    return _reordered(self, _swapped(self.ndim, first, second))


declare(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    doc="Two dimensions swapped.",
    spec=_transpose,
    vjp={"self": lambda grad, dim0, dim1: t.transpose(grad, dim0, dim1)},
    view=True,
    variants="function method inplace",
)


def _t(self: TensorSpec) -> TensorSpec:
    if self.ndim > 2:
        raise Mismatch(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return _reordered(self, range(self.ndim - 1, -1, -1))


declare(
    "t(Tensor(a) self) -> Tensor(a)",
    doc="A matrix transposed; fewer dimensions as they are.",
    spec=_t,
    vjp={"self": lambda grad: t.t(grad)},
    view=True,
    variants="function method inplace",
)


@composite("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)")
def swapaxes(self: Any, axis0: int, axis1: int) -> Any:
    """Two dimensions swapped."""
    return t.transpose(self, axis0, axis1)


@composite("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
def swapdims(self: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions swapped."""
    return t.transpose(self, dim0, dim1)


@composite(
    "swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)", variants="method"
)
def swapaxes_(self: Any, axis0: int, axis1: int) -> Any:
    """In-place form of `swapaxes`."""
    return t.transpose_(self, axis0, axis1)


@composite("swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", variants="method")
def swapdims_(self: Any, dim0: int, dim1: int) -> Any:
    """In-place form of `swapdims`."""
    return t.transpose_(self, dim0, dim1)


def _moved(ndim: int, source: Any, destination: Any) -> list[int]:
    """The order of dimensions after each of `source` went to its `destination`."""
    if len(source) != len(destination):
        raise Mismatch(
            "movedim: Invalid source or destination dims: expected as many source as destination "
            f"dims, got {list(source)} and {list(destination)}"
        )
    taken = _distinct(source, ndim, "source")
    given = _distinct(destination, ndim, "destination")
    order: list[int] = [-1] * ndim
    for before, after in zip(taken, given, strict=True):
        order[after] = before
    rest = iter([d for d in range(ndim) if d not in taken])
    return [next(rest) if d == -1 else d for d in order]


def _distinct(dims: Any, ndim: int, name: str) -> list[int]:
    wrapped = [wrap_dim(dim, ndim) for dim in dims]
    if len(set(wrapped)) != len(wrapped):
        raise Mismatch(f"movedim: repeated dim in `{name}` ({list(dims)})")
    return wrapped


def _move(self: Any, source: Any, destination: Any) -> Any:
    ndim = self._spec.ndim
    order = _moved(max(ndim, 1), source, destination)
    return t.permute(self, order) if ndim else t.alias(self)


@composite("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
def movedim_int(self: Any, source: int, destination: int) -> Any:
    """Dimension `source` moved to `destination`, the others in their order."""
    return _move(self, (source,), (destination,))


@composite("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
def movedim_intlist(self: Any, source: Any, destination: Any) -> Any:
    """Dimensions `source` moved to `destination`, the others in their order."""
    return _move(self, source, destination)


alias("moveaxis", of="movedim")


@composite("numpy_T(Tensor(a) self) -> Tensor(a)", variants="property")
def numpy_T(self: Any) -> Any:
    """All dimensions reversed."""
    ndim = self._spec.ndim
    if ndim not in (0, 2):
        warnings.warn(
            "T: expected a matrix, got a tensor of another number of dimensions, which is "
            "deprecated; use .mT for batches of matrices or .permute(...)",
            UserWarning,
            stacklevel=6,
        )
    return t.permute(self, tuple(range(ndim))[::-1]) if ndim else t.alias(self)


def _expect_matrices(self: Any, name: str) -> None:
    ndim = self._spec.ndim
    if ndim < 2:
        raise Mismatch(
            f"tensor.{name} is only supported on matrices or batches of matrices. "
            f"Got {ndim}-D tensor."
        )


@composite("matrix_H(Tensor(a) self) -> Tensor(a)", variants="property")
def matrix_H(self: Any) -> Any:
    """A matrix transposed and conjugated."""
    ndim = self._spec.ndim
    if ndim not in (0, 2):
        raise Mismatch(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor; "
            "use tensor.mH for batches of matrices"
        )
    return _conjugated(t.transpose(self, 0, 1) if ndim else t.alias(self))


@composite("mT(Tensor(a) self) -> Tensor(a)", variants="property")
def mT(self: Any) -> Any:
    """The last two dimensions swapped."""
    if self._spec.ndim:
        _expect_matrices(self, "mT")
    return t.transpose(self, -2, -1) if self._spec.ndim else t.alias(self)


@composite("mH(Tensor(a) self) -> Tensor(a)", variants="property")
def mH(self: Any) -> Any:
    """The last two dimensions swapped and conjugated."""
    if self._spec.ndim:
        _expect_matrices(self, "mH")
    return _conjugated(t.transpose(self, -2, -1) if self._spec.ndim else t.alias(self))


@composite("adjoint(Tensor(a) self) -> Tensor(a)")
def adjoint(self: Any) -> Any:
    """The last two dimensions swapped and conjugated."""
    if self._spec.ndim:
        _expect_matrices(self, "adjoint()")
    return _conjugated(t.transpose(self, -2, -1) if self._spec.ndim else t.alias(self))


def _conjugated(value: Any) -> Any:
    return value.conj() if value._spec.dtype.is_complex else value
