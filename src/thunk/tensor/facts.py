"""Enters: a tensor. Leaves: the answers that its spec alone gives: geometry, kind, place.

Invariant: nothing here computes or waits for a value.
"""

from __future__ import annotations

from typing import Any

from thunk.base.errors import expected
from thunk.ops.copy.formats import lies_in
from thunk.types.device import device
from thunk.types.dtype import dtype
from thunk.types.layout import contiguous_format, layout, memory_format, strided
from thunk.types.size import Size
from thunk.types.tensor_base import TensorBase

# Kinds of tensors and places that PyTorch asks about and this build never has.
_NEVER = (
    "is_cuda", "is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized",
    "is_sparse", "is_sparse_csr", "is_vulkan", "is_xpu",
)  # fmt: skip


class Facts(TensorBase):
    """Shape, strides, dtype, device and what follows from them."""

    __slots__ = ()

    @property
    def shape(self) -> Size:
        return Size(self._spec.shape)

    @property
    def dtype(self) -> dtype:
        return self._spec.dtype

    @property
    def device(self) -> device:
        return self._spec.device

    @property
    def layout(self) -> layout:
        return strided

    @property
    def ndim(self) -> int:
        return len(self._spec.shape)

    @property
    def itemsize(self) -> int:
        return self._spec.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._spec.numel * self._spec.dtype.itemsize

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else self._spec.shape[self._dim("size", dim)]

    def stride(self, dim: int | None = None) -> Any:
        """The strides in elements, or that of one dimension."""
        strides = self._spec.strides
        return strides if dim is None else strides[self._dim("stride", dim)]

    def _dim(self, name: str, dim: int) -> int:
        ndim = len(self._spec.shape)
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"{name}: Dimension out of range (expected to be in range of [{-max(ndim, 1)}, "
                f"{max(ndim, 1) - 1}], but got {dim})"
            )
        return dim % ndim

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self._spec.shape)

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self._spec.numel

    nelement = numel

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._spec.dtype.itemsize

    def storage_offset(self) -> int:
        """Where the window starts, in elements."""
        return self._spec.offset

    def __len__(self) -> int:
        if not self._spec.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._spec.shape[0]

    @property
    def is_cpu(self) -> bool:
        return self._spec.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        return self._spec.device.type == "meta"

    @property
    def is_xla(self) -> bool:
        return self._spec.device.type == "xla"

    def get_device(self) -> int:
        """The index of the tensor's accelerator, -1 on the CPU."""
        where = self._spec.device
        return -1 if where.type in ("cpu", "meta") else where.index or 0

    def is_contiguous(self, memory_format: memory_format = contiguous_format) -> bool:
        """Whether the elements lie in memory in the order of `memory_format`."""
        return lies_in(self._spec, memory_format)

    def is_same_size(self, other: TensorBase) -> bool:
        """Whether `other` has the same shape."""
        return self._spec.shape == other._spec.shape

    def is_set_to(self, tensor: TensorBase) -> bool:
        """Whether `tensor` looks at the same memory in the same way."""
        ours, theirs = self._spec, tensor._spec
        same = (ours.shape, ours.strides, ours.offset) == (
            theirs.shape, theirs.strides, theirs.offset,
        )  # fmt: skip
        return same and self._storage is tensor._storage

    def is_pinned(self, device: Any = None) -> bool:
        """Never: page-locked memory belongs to accelerators."""
        return False

    def is_distributed(self) -> bool:
        """Never: a tensor lives in one process."""
        return False

    def is_coalesced(self) -> bool:
        """Only sparse tensors can be asked."""
        raise expected("a sparse tensor", "a dense one; there is nothing to coalesce").named(
            "is_coalesced"
        )

    def dim_order(self, *, ambiguity_check: bool = False) -> tuple[int, ...]:
        """The dimensions from the slowest in memory to the fastest."""
        strides, shape = self._spec.strides, self._spec.shape
        if ambiguity_check and len(set(strides)) < len(strides):
            raise expected("one order", "equal strides: the tensor does not have unique dim order")
        return tuple(sorted(range(len(shape)), key=lambda dim: (-strides[dim], dim)))


def _never(name: str) -> property:
    return property(lambda self: False, doc=f"Always False here: `{name}`.")


for _name in _NEVER:
    setattr(Facts, _name, _never(_name))
