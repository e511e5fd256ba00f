"""Enters: a call that fails for some values, about to be recorded. Leaves: nothing, or its error.

Invariant: what is known now is refused now, where users catch it; nothing runs or waits for that.
What is not known yet fails when somebody looks, with the line that recorded it.
"""

from __future__ import annotations

from typing import Any

from thunk.dispatch.call import call, tensors_in
from thunk.dispatch.state import no_grad_recording
from thunk.ir.opdef import OpDef
from thunk.lazy.eager import eager
from thunk.lazy.trace import has_storage
from thunk.runtime.storage import Storage, allocate
from thunk.runtime.tensors import new_tensor
from thunk.types.device import CPU
from thunk.types.spec import TensorSpec
from thunk.types.tensor_base import TensorBase

_LARGEST = 1 << 22  # elements; whoever calls on more waits for the run to hear of a bad index


def rehearse(op: OpDef, args: tuple[Any, ...]) -> None:
    """Raise what the call would, as far as the values that decide about it are known.

    The reference rule runs on zeros in place of the other operands. A call that is remembered is
    not rehearsed again; of those in brackets the indices are (`replay.py`).
    """
    deciding = [
        each
        for argument, value in zip(op.schema.arguments, args, strict=True)
        if argument.name in op.raises_on_data
        for each in tensors_in((value,))
    ]
    if not all(is_known(each) for each in deciding):
        return
    if sum(each._spec.numel for each in tensors_in(args)) > _LARGEST:
        return
    known = {id(each) for each in deciding}
    with eager(), no_grad_recording(False):
        call(op, tuple([_stand_in(each, known) for each in args]))


def is_known(tensor: Any) -> bool:
    """Whether the values are in memory; those of a run under way are not."""
    if not has_storage(tensor):
        return False
    storage: Storage = tensor._storage
    return storage.trace is None and storage.launch is None and storage.existed


def _stand_in(value: Any, known: set[int]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([_stand_in(each, known) for each in value])
    if not isinstance(value, TensorBase):
        return value
    spec = value._spec
    if id(value) in known:
        located = TensorSpec(spec.shape, spec.dtype, spec.strides, spec.offset, CPU)
        return new_tensor(value._storage, located)
    memory = allocate(spec.dtype.itemsize)
    memory[:] = 0
    return new_tensor(Storage(memory), TensorSpec(spec.shape, spec.dtype, (0,) * spec.ndim, 0, CPU))
