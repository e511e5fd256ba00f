"""Views that cut a dimension into parts: split, chunk, unbind and their kin."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite, declare
from thunk.ops.registry import t
from thunk.ops.rules.dims import wrap_dim
from thunk.ops.rules.zeros import filled_gaps
from thunk.types.dtype import int64
from thunk.types.spec import TensorSpec


def _expect_dimensions(spec: TensorSpec, name: str) -> None:
    if spec.ndim == 0:
        raise Mismatch(f"{name} expects at least a 1-dimensional tensor, got a 0-dim tensor")


def _parts(self: TensorSpec, split_sizes: Any, dim: int) -> tuple[TensorSpec, ...]:
    _expect_dimensions(self, "split")
    place = wrap_dim(dim, self.ndim)
    size, stride = self.shape[place], self.strides[place]
    if any(each < 0 for each in split_sizes):
        raise Mismatch(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != size:
        raise Mismatch(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size "
            f"at dimension {place}), but got split_sizes={list(split_sizes)}"
        )
    found, start = [], 0
    for length in split_sizes:
        shape = (*self.shape[:place], length, *self.shape[place + 1 :])
        found.append(self.window(shape, self.strides, self.offset + start * stride))
        start += length
    return tuple(found)


def _join_parts(grads: Any, self_spec: TensorSpec, split_sizes: Any, dim: int) -> Any:
    return t.cat(filled_gaps(grads, list(_parts(self_spec, split_sizes, dim))), dim)


declare(
    "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
    doc="Parts of the given sizes along `dim`.",
    spec=_parts,
    vjp={"self": _join_parts},
    view=True,
)


def even_sizes(spec: TensorSpec, split_size: int, dim: int) -> tuple[int, ...]:
    """The sizes of parts of `split_size`, the last one smaller if need be."""
    _expect_dimensions(spec, "split")
    if split_size < 0:
        raise Mismatch(f"split expects split_size be non-negative, but got split_size={split_size}")
    size = spec.shape[wrap_dim(dim, spec.ndim)]
    if split_size == 0:
        if size:
            raise Mismatch(
                "split_size can only be 0 if dimension size is 0, but got dimension size of "
                f"{size}"
            )
        return (0,)
    count = max(-(-size // split_size), 1)
    return (*[split_size] * (count - 1), size - split_size * (count - 1))


@composite("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]")
def split(self: Any, split_size: int, dim: int) -> Any:
    """Parts of `split_size` along `dim`; the last one may be smaller."""
    return t.split_with_sizes(self, even_sizes(self._spec, split_size, dim), dim)


@composite("split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]")
def split_sizes(self: Any, split_size: Any, dim: int) -> Any:
    """Parts of the given sizes along `dim`."""
    return t.split_with_sizes(self, split_size, dim)


def chunk_sizes(spec: TensorSpec, chunks: int, dim: int) -> tuple[int, ...]:
    """The sizes of at most `chunks` equal parts."""
    _expect_dimensions(spec, "chunk")
    if chunks <= 0:
        raise Mismatch(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = spec.shape[wrap_dim(dim, spec.ndim)]
    if size == 0:
        return (0,) * chunks
    return even_sizes(spec, -(-size // chunks), dim)


@composite("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
def chunk(self: Any, chunks: int, dim: int) -> Any:
    """At most `chunks` parts of one size along `dim`; the last one may be smaller."""
    return t.split_with_sizes(self, chunk_sizes(self._spec, chunks, dim), dim)


def _separate(self: Any, sizes: tuple[int, ...], dim: int) -> Any:
    """Parts that are views of their own, so that each may be written in place."""
    found, start = [], 0
    for size in sizes:
        found.append(t.slice(self, dim, start, start + size))
        start += size
    return tuple(found)


@composite("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]")
def unsafe_chunk(self: Any, chunks: int, dim: int) -> Any:
    """As `chunk`; the parts may be written in place."""
    return _separate(self, chunk_sizes(self._spec, chunks, dim), dim)


@composite("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]")
def unsafe_split(self: Any, split_size: int, dim: int) -> Any:
    """As `split`; the parts may be written in place."""
    return _separate(self, even_sizes(self._spec, split_size, dim), dim)


@composite(
    "unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"
)
def unsafe_split_with_sizes(self: Any, split_sizes: Any, dim: int) -> Any:
    """As `split_with_sizes`; the parts may be written in place."""
    _parts(self._spec, split_sizes, dim)
    return _separate(self, split_sizes, dim)


def _at_indices(self: Any, indices: Any, dim: int) -> Any:
    """Parts between `indices`, clamped as slices are."""
    edges = [None, *indices, None]
    return tuple([t.slice(self, dim, a, b) for a, b in pairwise(edges)])


@composite(
    "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]"
)
def tensor_split_sections(self: Any, sections: int, dim: int) -> Any:
    """`sections` parts along `dim`, the first ones larger by one if need be."""
    spec: TensorSpec = self._spec
    _expect_dimensions(spec, "tensor_split")
    place = wrap_dim(dim, spec.ndim)
    if sections <= 0:
        raise Mismatch(f"number of sections must be larger than 0, got {sections}")
    least, longer = divmod(spec.shape[place], sections)
    return _separate(self, (least + 1,) * longer + (least,) * (sections - longer), place)


@composite(
    "tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]"
)
def tensor_split_indices(self: Any, indices: Any, dim: int) -> Any:
    """Parts along `dim`, cut at `indices`."""
    _expect_dimensions(self._spec, "tensor_split")
    return _at_indices(self, indices, wrap_dim(dim, self._spec.ndim))


@composite(
    "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, "
    "Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]"
)
def tensor_split_tensor(self: Any, tensor_indices_or_sections: Any, dim: int) -> Any:
    """As the other overloads, with the indices or the number of sections in a tensor."""
    _expect_dimensions(self._spec, "tensor_split")
    spec: TensorSpec = tensor_indices_or_sections._spec
    if spec.device.type != "cpu":
        raise Mismatch(
            f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on "
            f"{spec.device}"
        )
    if spec.dtype is not int64 or spec.ndim > 1:
        raise Mismatch(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
            f"one-dimensional int64 tensor, got {spec.ndim} dimensions of {spec.dtype!r}"
        )
    given = tensor_indices_or_sections.tolist()
    return t.tensor_split(self, given, dim)


def _numpy_split(self: Any, parts: Any, dim: int, least: int, name: str) -> Any:
    spec: TensorSpec = self._spec
    if spec.ndim < least:
        plural = "" if least == 1 else "s"
        raise Mismatch(
            f"torch.{name} requires a tensor with at least {least} dimension{plural}, but got a "
            f"tensor with {spec.ndim} dimensions!"
        )
    if isinstance(parts, int) and (parts == 0 or spec.shape[dim] % parts):
        raise Mismatch(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the "
            f"dimension {spec.shape[dim]} is not divisible by the split_size {parts}!"
        )
    return t.tensor_split(self, parts, dim)


@composite("hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
def hsplit_int(self: Any, sections: int) -> Any:
    """Equal parts side by side."""
    return _numpy_split(self, sections, 0 if self._spec.ndim == 1 else 1, 1, "hsplit")


@composite("hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
def hsplit_array(self: Any, indices: Any) -> Any:
    """Parts side by side, cut at `indices`."""
    return _numpy_split(self, indices, 0 if self._spec.ndim == 1 else 1, 1, "hsplit")


@composite("vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
def vsplit_int(self: Any, sections: int) -> Any:
    """Equal parts one below the other."""
    return _numpy_split(self, sections, 0, 2, "vsplit")


@composite("vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
def vsplit_array(self: Any, indices: Any) -> Any:
    """Parts one below the other, cut at `indices`."""
    return _numpy_split(self, indices, 0, 2, "vsplit")


@composite("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
def dsplit_int(self: Any, sections: int) -> Any:
    """Equal parts along the third dimension."""
    return _numpy_split(self, sections, 2, 3, "dsplit")


@composite("dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
def dsplit_array(self: Any, indices: Any) -> Any:
    """Parts along the third dimension, cut at `indices`."""
    return _numpy_split(self, indices, 2, 3, "dsplit")


def _unbind(self: TensorSpec, dim: int) -> tuple[TensorSpec, ...]:
    if self.ndim == 0:
        raise Mismatch("expected a tensor with dimensions, got a 0-dim tensor", IndexError)
    place = wrap_dim(dim, self.ndim)
    shape = self.shape[:place] + self.shape[place + 1 :]
    strides = self.strides[:place] + self.strides[place + 1 :]
    step = self.strides[place]
    return tuple(
        [self.window(shape, strides, self.offset + i * step) for i in range(self.shape[place])]
    )


declare(
    "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    doc="The slices at every index of `dim`.",
    spec=_unbind,
    vjp={
        "self": lambda grads, self_spec, dim: t.stack(
            filled_gaps(grads, list(_unbind(self_spec, dim))), dim
        )
    },
    view=True,
)
