"""Enters: a spec and a storage. Leaves: `TensorBase`, the data of a tensor without its operators.

Invariant: the layers below `tensor` know tensors only through these fields; the public class adds
methods and nothing else. `_spec` is None only before `__init__` ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thunk.types.spec import TensorSpec


class VersionCounter:
    """Counts writes; a base, its views and its detached aliases share one."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class InferenceCounter(VersionCounter):
    """The counter of a tensor born in inference mode: it tracks nothing and marks the tensor."""

    __slots__ = ()


class TensorBase:
    """A window (`_spec`) into a storage, its write counter and, if it has any, its history."""

    __slots__ = ("_history", "_node", "_origin", "_spec", "_storage", "_versions")

    _spec: TensorSpec
    _storage: Any  # runtime.storage.Storage; `types` lies below it
    _versions: VersionCounter
    _history: Any  # autograd.meta.History | None
    _node: Any  # lazy.node.TraceNode while the value is not computed, else None
    # What a history that was not asked for yet is derived from: of a pending view the tensor it
    # looks into, of a result of a finished walk its segment and node. Absent otherwise.
    _origin: Any


def is_tensor(value: object) -> bool:
    """Whether `value` is a tensor of any kind."""
    return isinstance(value, TensorBase)
