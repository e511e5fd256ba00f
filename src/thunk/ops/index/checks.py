"""Enters: specs of indices and of what they index. Leaves: nothing, or PyTorch's complaint."""

from __future__ import annotations

from thunk.base.errors import Mismatch, expected
from thunk.types.dtype import dtype, int32, int64
from thunk.types.spec import TensorSpec


def expect_integers(index: TensorSpec, kind: type[Exception] = RuntimeError) -> None:
    """Raise unless the index is int32 or int64."""
    if index.dtype not in (int32, int64):
        raise expected(
            "an index of dtype int32 or int64", repr(index.dtype), "convert it with .long()", kind
        )


def expect_long(index: TensorSpec, kind: type[Exception] = RuntimeError) -> None:
    """Raise unless the index is int64."""
    if index.dtype is not int64:
        raise expected(
            "an index of dtype int64", repr(index.dtype), "convert it with .long()", kind
        )


def expect_vector(index: TensorSpec, kind: type[Exception] = IndexError) -> None:
    """Raise unless the index has at most one dimension."""
    if index.ndim > 1:
        raise Mismatch(f"Index is supposed to be a vector, but got dim: {index.ndim}", kind)


def expect_same_dtype(self: TensorSpec, source: TensorSpec, name: str = "source") -> dtype:
    """The dtype that both share."""
    if self.dtype is not source.dtype:
        raise expected(
            f"self and {name} to have the same dtype",
            f"(self) {self.dtype!r} and ({name}) {source.dtype!r}",
            "cast one of them",
        )
    return self.dtype


def nonempty(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, where a 0-dim tensor counts as a vector of one element."""
    return shape or (1,)
