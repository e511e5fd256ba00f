"""Enters: a tensor. Leaves: deep copies, pickles, other classes and other places of it.

Invariant: tensors that share a storage share it again after a deep copy or a pickle of both.
"""

from __future__ import annotations

import copy
import mmap
from typing import Any, NoReturn

import numpy

from thunk.autograd import api
from thunk.autograd.edges import is_leaf
from thunk.autograd.meta import requires_grad
from thunk.ops.registry import t
from thunk.runtime.storage import Storage
from thunk.runtime.tensors import new_tensor
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase


def rebuild(
    cls: type[Any], storage: Storage, spec: TensorSpec, asks_grad: bool, extras: dict[str, Any]
) -> Any:
    """What a pickled tensor is made of."""
    made = new_tensor(storage, spec)
    made.__class__ = cls
    made.__dict__.update(extras)
    if asks_grad:
        api.set_requires_grad(made, True)
    return made


def _is_mapped(storage: Storage) -> bool:
    memory: Any = storage.data
    while isinstance(memory, numpy.ndarray):
        memory = memory.base
    if isinstance(memory, memoryview):
        memory = memory.obj
    return isinstance(memory, mmap.mmap)


class Copies(TensorBase):
    """The same values elsewhere."""

    __slots__ = ()

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

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        state = (type(self), self._storage, self._spec, requires_grad(self), dict(self.__dict__))
        return rebuild, state

    @staticmethod
    def _make_subclass(cls: type[Any], data: Any, require_grad: bool = False) -> Any:
        """`data`'s values and memory as a tensor of class `cls`, without history."""
        made = t.detach(data)
        made.__class__ = cls
        if require_grad:
            api.set_requires_grad(made, True)
        return made

    def as_subclass(self, cls: type[Any]) -> Any:
        """This tensor, with its history, as a `cls`."""
        made = t.alias(self)
        made.__class__ = cls
        return made

    def cpu(self, memory_format: Any = None) -> Any:
        """The tensor on the CPU: itself if it is there."""
        return self._moved("cpu", memory_format)

    def _moved(self, where: str, memory_format: Any) -> Any:
        options = {} if memory_format is None else {"memory_format": memory_format}
        tensor: Any = self
        return tensor.to(where, **options)

    def cuda(
        self, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> NoReturn:
        """Refused: this build has no CUDA."""
        raise AssertionError("Torch not compiled with CUDA enabled; use .to(device) with 'cpu'")

    def xpu(
        self, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> NoReturn:
        """Refused: this build has no XPU."""
        raise RuntimeError("PyTorch is not linked with support for xpu devices; use 'cpu'")

    def pin_memory(self, device: Any = None) -> NoReturn:
        """Refused: page-locked memory belongs to accelerators."""
        raise RuntimeError(
            "pin_memory: expected an accelerator, got none: cannot access accelerator device when "
            "none is available; drop pin_memory"
        )

    def share_memory_(self) -> Any:
        """Move the storage to memory that forked processes share."""
        storage: Storage = self._storage
        data = storage.data
        if data is not None and not _is_mapped(storage):
            shared = numpy.frombuffer(mmap.mmap(-1, max(data.nbytes, 1)), numpy.uint8)
            shared = shared[: data.nbytes]
            shared[...] = data
            storage.data = shared
            storage.foreign = True
            storage.resizable = False
        return self

    def is_shared(self) -> bool:
        """Whether forked processes share this tensor's memory."""
        return _is_mapped(self._storage)

    def module_load(self, other: Any, assign: bool = False) -> Any:
        """What `load_state_dict` puts in this tensor's place."""
        tensor: Any = self
        return other.detach() if assign else tensor.copy_(other).detach()

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
        """The tensor itself, which is dense."""
        tensor: Any = self
        return tensor if dtype is None else tensor.to(dtype)
