"""Enters: dimensions, sizes and shapes as written. Leaves: them normalised, or PyTorch's error.

Invariant: what leaves is never negative and always in range.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thunk.base.errors import Mismatch


def wrap_dim(dim: int, ndim: int, *, scalar_ok: bool = True) -> int:
    """`dim` counted from the front; a 0-dim tensor has one dimension for this purpose."""
    if ndim == 0 and not scalar_ok:
        raise Mismatch(
            f"expected a tensor with dimensions, got a 0-dim tensor and dim {dim}", IndexError
        )
    size = max(ndim, 1)
    if not -size <= dim < size:
        raise Mismatch(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], "
            f"but got {dim})",
            IndexError,
        )
    return dim % size


def wrap_dims(dims: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """All of `dims` counted from the front, none twice; None or () means every dimension."""
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    if len(dims) == 0:
        return tuple(range(ndim))
    wrapped = [wrap_dim(dim, ndim) for dim in dims]
    for position, dim in enumerate(wrapped):
        if dim in wrapped[:position]:
            raise Mismatch(f"dim {dim} appears multiple times in the list of dims")
    return tuple(dim for dim in wrapped if ndim)


def reduced_shape(shape: tuple[int, ...], dims: Iterable[int], keepdim: bool) -> tuple[int, ...]:
    """The shape after reducing `dims`."""
    gone = frozenset(dims)
    if keepdim:
        return tuple(1 if d in gone else size for d, size in enumerate(shape))
    return tuple(size for d, size in enumerate(shape) if d not in gone)


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of operands, PyTorch's error otherwise."""
    ndim = max((len(shape) for shape in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for position in range(1, len(shape) + 1):
            size, known = shape[-position], result[-position]
            if size == known or size == 1:
                continue
            if known != 1:
                raise Mismatch(
                    f"The size of tensor a ({known}) must match the size of tensor b ({size}) at "
                    f"non-singleton dimension {ndim - position}; expected shapes that broadcast, "
                    f"got {' and '.join(str(list(each)) for each in shapes)}"
                )
            result[-position] = size
    return tuple(result)


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """`shape` with its one -1 replaced by what `numel` elements need."""
    known = 1
    unknown = -1
    for position, size in enumerate(shape):
        if size == -1:
            if unknown >= 0:
                raise Mismatch("only one dimension can be inferred")
            unknown = position
        elif size < 0:
            raise Mismatch(
                f"invalid shape dimension {size} at index {position} of shape {list(shape)}"
            )
        else:
            known *= size
    fits = numel == known if unknown < 0 else (known != 0 and numel % known == 0)
    if not fits:
        if unknown >= 0 and known == 0:
            raise Mismatch(
                f"cannot reshape tensor of {numel} elements into shape {list(shape)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
            )
        raise Mismatch(f"shape '{list(shape)}' is invalid for input of size {numel}")
    if unknown < 0:
        return tuple(shape)
    return tuple(numel // known if size == -1 else size for size in shape)
