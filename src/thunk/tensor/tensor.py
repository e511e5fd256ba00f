"""Enters: nothing. Leaves: the public `Tensor` class.

Invariant: operators are not written here; `tensor.methods` attaches them from their declarations.
What needs no operator stands in the classes that `Tensor` is made of, one concept each.
"""

from __future__ import annotations

from typing import Any

from thunk.base.missing import MissingMember
from thunk.dispatch.hot import fast_kinds, result_kind
from thunk.lazy.backward import type_of_gradients
from thunk.lazy.calls import result_class
from thunk.lazy.pending import FIELDS, fill
from thunk.lazy.trace import pending_class
from thunk.runtime.tensors import announce_tensor_class
from thunk.tensor.copies import Copies
from thunk.tensor.exchange import Exchange
from thunk.tensor.facts import Facts
from thunk.tensor.legacy import Legacy, construct
from thunk.tensor.operators import Operators
from thunk.tensor.storage import Stored
from thunk.tensor.text import text_of
from thunk.tensor.tracked import Tracked
from thunk.types.promotion import get_default_dtype


class TensorType(type):
    """The class of tensor classes; it explains the names that they lack."""

    def __getattr__(cls, name: str) -> Any:
        raise MissingMember(cls.__name__, name, lambda: dir(cls))


class Tensor(
    Facts, Tracked, Exchange, Copies, Stored, Legacy, Operators, metaclass=TensorType
):
    """A multi-dimensional array of one dtype that records what is done to it."""

    __slots__ = ("__dict__", "__weakref__")

    __hash__ = object.__hash__
    __array_priority__ = 1000

    def __new__(cls, *args: Any, device: Any = None) -> Any:
        made = construct("Tensor", get_default_dtype(), args, device)
        if cls is not Tensor:
            made.__class__ = cls
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Everything was done by `__new__`; subclasses may take other arguments."""

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS:
            return fill(self, name)
        raise MissingMember(type(self).__name__, name, lambda: dir(self))

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return text_of(self, tensor_contents)

    def __format__(self, spec: str) -> str:
        if not self._spec.shape and self._spec.device.type != "meta":
            return format(self.item(), spec)
        return object.__format__(self, spec)


announce_tensor_class(Tensor)
pending_class[:] = [Tensor]
result_class[:] = [Tensor]
result_kind[:] = [Tensor]
type_of_gradients[:] = [Tensor]
fast_kinds.add(Tensor)
