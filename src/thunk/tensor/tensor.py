"""Enters: nothing. Leaves: the public `Tensor` class: facts, history and conversions.

Invariant: operators are not written here; `tensor.methods` attaches them from their declarations.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy

from thunk.autograd import api
from thunk.autograd.edges import edge_of, is_leaf, refresh_view
from thunk.autograd.meta import History, history_of, requires_grad
from thunk.autograd.node import Node, RemovableHandle, add_hook
from thunk.lazy.pending import FIELDS, fill
from thunk.lazy.trace import pending_class
from thunk.ops.registry import t
from thunk.runtime.storage import array_of
from thunk.runtime.tensors import announce_tensor_class, new_tensor
from thunk.tensor.text import text_of
from thunk.types.device import device
from thunk.types.dtype import dtype
from thunk.types.layout import layout, strided
from thunk.types.size import Size
from thunk.types.tensor_base import InferenceCounter, TensorBase


class Tensor(TensorBase):
    """A multi-dimensional array of one dtype that records what is done to it."""

    __slots__ = ("__dict__", "__weakref__")

    __hash__ = object.__hash__
    __array_priority__ = 1000

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS:
            return fill(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    # --- facts ------------------------------------------------------------------------------

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
        return self.shape if dim is None else self._spec.shape[self._dim(dim)]

    def stride(self, dim: int | None = None) -> Any:
        """The strides in elements, or that of one dimension."""
        return self._spec.strides if dim is None else self._spec.strides[self._dim(dim)]

    def _dim(self, dim: int) -> int:
        ndim = len(self._spec.shape)
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, "
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

    # --- history ----------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for gradients, or stop asking; leaves only."""
        api.set_requires_grad(self, requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return is_leaf(self)

    @property
    def grad(self) -> Any:
        history: History | None = self._history
        return None if history is None else history.grad

    @grad.setter
    def grad(self, value: Any) -> None:
        api.set_grad(self, value)

    @grad.deleter
    def grad(self) -> None:
        api.set_grad(self, None)

    @property
    def grad_fn(self) -> Node | None:
        history: History | None = self._history
        if history is None:
            return None
        if history.base is not None:
            refresh_view(self, history)
        return history.grad_fn

    @property
    def output_nr(self) -> int:
        return 0 if self._history is None else self._history.output_index

    @property
    def _version(self) -> int:
        if isinstance(self._versions, InferenceCounter):
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._versions.value

    def is_inference(self) -> bool:
        """Whether this tensor was born in inference mode."""
        return isinstance(self._versions, InferenceCounter)

    @property
    def _base(self) -> Any:
        return None if self._history is None else self._history.base

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def retains_grad(self) -> bool:
        return self._history is not None and bool(self._history.retains_grad)

    def retain_grad(self) -> None:
        """Keep this result's gradient in `.grad` during backward."""
        api.retain_grad(self)

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
        inputs: Any = None,
    ) -> None:  # fmt: skip
        """Accumulate the gradients of this tensor into the leaves it depends on."""
        api.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is known; a result replaces it."""
        return api.register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(self)` after a gradient was accumulated into this leaf."""
        if not is_leaf(self) or not requires_grad(self):
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        history = history_of(self)
        if history.post_accumulate_hooks is None:
            history.post_accumulate_hooks = {}
        return add_hook(history.post_accumulate_hooks, hook)

    @property
    def data(self) -> Any:
        """The same memory without history and with a write counter of its own."""
        return new_tensor(self._storage, self._spec)

    @data.setter
    def data(self, value: TensorBase) -> None:
        self._storage = value._storage
        self._spec = value._spec

    def detach_(self) -> Tensor:
        """Drop the history in place."""
        history: History | None = self._history
        if history is not None:
            if history.base is not None:
                raise RuntimeError("Can't detach views in-place. Use detach() instead.")
            history.grad_fn = None
            history.requires_grad = False
        return self

    # --- conversion -------------------------------------------------------------------------

    def _array(self) -> numpy.ndarray:
        return array_of(self._storage, self._spec)

    def numpy(self, *, force: bool = False) -> numpy.ndarray:
        """The values as an array that shares this tensor's memory."""
        if requires_grad(self) and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        array = self._array()
        # From here on others may write to this memory, or expect to see what is written to it.
        self._storage.foreign = True
        return array

    def item(self) -> Any:
        """The only element as a Python number."""
        if self._spec.numel != 1:
            raise RuntimeError(
                f"a Tensor with {self._spec.numel} elements cannot be converted to Scalar"
            )
        return self._array().reshape(())[()].item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        array = self._array()
        if self._spec.dtype.name == "bfloat16":
            array = array.astype(numpy.float32)
        return array.tolist()

    def __bool__(self) -> bool:
        if self._spec.numel == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        if self._spec.numel > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self._spec.dtype.is_inexact or self._spec.numel != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __iter__(self) -> Iterator[Any]:
        if not self._spec.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(t.unbind(self, 0))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not is_leaf(self):
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment; detach() it first"
            )
        if id(self) in memo:
            return memo[id(self)]
        copied = api.deep_copy(self, memo)
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        memo[id(self)] = copied
        return copied

    @property
    def grad_edge(self) -> Any:
        return edge_of(self)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return text_of(self, tensor_contents)

    def __format__(self, spec: str) -> str:
        if not self._spec.shape and self._spec.device.type != "meta":
            return format(self.item(), spec)
        return object.__format__(self, spec)


announce_tensor_class(Tensor)
pending_class[:] = [Tensor]
