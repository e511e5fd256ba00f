"""Views that repeat dimensions of size one, and the smallest number of dimensions."""

from __future__ import annotations

from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import broadcast_shapes
from thunk.types.spec import TensorSpec


def _expanded_size(
    wanted: int, have: int | None, position: int, self: TensorSpec, size: Any
) -> int:
    """One size of an expansion; `have` is None for a dimension that is new in front."""
    if wanted == -1:
        if have is None:
            raise Mismatch(
                f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, "
                f"non-existing dimension {position}"
            )
        return have
    if wanted < 0:
        raise Mismatch(f"expected sizes that are not negative, got {list(size)}")
    if have not in (None, 1, wanted):
        raise Mismatch(
            f"The expanded size of the tensor ({wanted}) must match the existing size "
            f"({have}) at non-singleton dimension {position}. Target sizes: {list(size)}. "
            f"Tensor sizes: {list(self.shape)}"
        )
    return wanted


def expand_spec(self: TensorSpec, size: Any, implicit: bool = False) -> TensorSpec:
    """The window that shows `self` with dimensions of size one repeated."""
    lead = len(size) - self.ndim
    if lead < 0:
        raise Mismatch(
            f"the number of sizes provided ({len(size)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({self.ndim})"
        )
    shape, strides = [0] * len(size), [0] * len(size)
    for position in range(len(size) - 1, -1, -1):
        own = position - lead
        have = self.shape[own] if own >= 0 else None
        found = _expanded_size(size[position], have, position, self, size)
        if found != (1 if have is None else have):
            stride = 0
        elif have is None:
            last = position == len(size) - 1
            stride = 1 if last else shape[position + 1] * strides[position + 1]
        else:
            stride = self.strides[own]
        shape[position], strides[position] = found, stride
    return self.window(tuple(shape), tuple(strides))


declare(
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    doc="Dimensions of size one repeated without a copy.",
    spec=expand_spec,
    vjp={"self": lambda grad: grad},  # the engine sums broadcast dimensions back
    view=True,
    variants="method",
)


@composite("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", variants="method")
def expand_as(self: Any, other: Any) -> Any:
    """`expand` to the shape of `other`."""
    return self.expand(other._spec.shape)


@composite("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
def broadcast_to(self: Any, size: tuple[int, ...]) -> Any:
    """`expand` to a shape."""
    return self.expand(size)


@composite("broadcast_tensors(Tensor[] tensors) -> Tensor[]", variants="function variadic")
def broadcast_tensors(tensors: Any) -> Any:
    """All tensors expanded to their common shape."""
    shape = broadcast_shapes([each._spec.shape for each in tensors])
    return tuple([each.expand(shape) for each in tensors])


@composite("sum_to_size(Tensor self, SymInt[] size) -> Tensor", variants="method")
def sum_to_size(self: Any, size: tuple[int, ...]) -> Any:
    """The sum over the dimensions along which `size` would have to be expanded."""
    have = self._spec.shape
    lead = len(have) - len(size)
    if lead < 0 or any(want not in (1, got) for want, got in zip(size, have[lead:], strict=True)):
        raise Mismatch(f"size {{{list(size)}}} is not expandable to size {{{list(have)}}}.")
    if not size:
        return t.sum(self)
    dims = [d for d, got in enumerate(have) if d < lead or (size[d - lead] == 1 and got != 1)]
    summed = t.sum(self, dims, keepdim=True) if dims else self
    return t.reshape(summed, size) if lead else summed


@composite("atleast_1d(Tensor self) -> Tensor", variants="function variadic")
def atleast_1d(self: Any) -> Any:
    """`self` with one dimension or more."""
    return self if self._spec.ndim else t.reshape(self, (1,))


@composite("atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", variants="function variadic")
def atleast_1d_sequence(tensors: Any) -> Any:
    """`atleast_1d` of each."""
    return tuple([t.atleast_1d(each) for each in tensors])


@composite("atleast_2d(Tensor self) -> Tensor", variants="function variadic")
def atleast_2d(self: Any) -> Any:
    """`self` with two dimensions or more; a vector becomes a row."""
    ndim = self._spec.ndim
    if ndim == 0:
        return t.reshape(self, (1, 1))
    return t.unsqueeze(self, 0) if ndim == 1 else self


@composite("atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", variants="function variadic")
def atleast_2d_sequence(tensors: Any) -> Any:
    """`atleast_2d` of each."""
    return tuple([t.atleast_2d(each) for each in tensors])


@composite("atleast_3d(Tensor self) -> Tensor", variants="function variadic")
def atleast_3d(self: Any) -> Any:
    """`self` with three dimensions or more; a matrix becomes (rows, columns, 1)."""
    ndim = self._spec.ndim
    if ndim == 0:
        return t.reshape(self, (1, 1, 1))
    if ndim == 1:
        return t.unsqueeze(t.unsqueeze(self, 0), -1)
    return t.unsqueeze(self, -1) if ndim == 2 else self


@composite("atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", variants="function variadic")
def atleast_3d_sequence(tensors: Any) -> Any:
    """`atleast_3d` of each."""
    return tuple([t.atleast_3d(each) for each in tensors])
