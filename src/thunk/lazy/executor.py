"""Enters: tensors, devices, hashes. Leaves: what PyTorch's C++ `LazyGraphExecutor` does with them.

Invariant: nothing is done here that another module does; this is the one object under which it is
found. There is one executor, and every device of the `lazy` kind shares its engine.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final

from thunk.dispatch.state import no_grad_recording
from thunk.ir.graph import Node
from thunk.lazy import device_context, ir_cache, noop
from thunk.lazy.cache import Cache, DeviceDataCache
from thunk.lazy.compiled import Computation, computation_of, computations
from thunk.lazy.computation import (
    get_graph_hash,
    get_tensor_id,
    get_tensors_device_data_node,
    piece_of,
    run_cached_graph,
)
from thunk.lazy.device_context import DeviceContext
from thunk.lazy.eager import eager
from thunk.lazy.metrics import count
from thunk.lazy.run import inflight
from thunk.lazy.step import mark_step, sync_multi, wait_device_ops
from thunk.lazy.trace import traces
from thunk.ops.registry import t
from thunk.types.dtype import dtype
from thunk.types.tensor_base import TensorBase

_ALONE: Final = 2  # what `getrefcount` says of what a list and its reader hold


class LazyGraphExecutor:
    """Everything that can be asked of lazy execution, by the names of the C++ class."""

    _one: ClassVar[LazyGraphExecutor | None] = None

    def __init__(self) -> None:
        self.device_data = DeviceDataCache()
        self._registered: dict[int, weakref.ref[Any]] = {}
        self._trims = itertools.count(1)
        self._trimmed = 0
        self._lock = threading.Lock()

    @classmethod
    def get(cls) -> LazyGraphExecutor:
        """The one executor."""
        if cls._one is None:
            cls._one = cls()
        return cls._one

    # Tensors

    def register_tensor(self, tensor: Any) -> None:
        """Count a tensor among the live ones while it lives, pending or not."""
        key = get_tensor_id(tensor)
        self._registered[key] = weakref.ref(tensor, lambda _: self._registered.pop(key, None))

    def unregister_tensor(self, tensor: Any) -> None:
        """Count it no more, unless it is pending."""
        self._registered.pop(get_tensor_id(tensor), None)

    def get_live_tensors(self, device: Any = None) -> list[Any]:
        """Pending tensors of this thread that somebody holds, and registered ones."""
        found = {
            id(each): each for each in traces.current.results
            if each._node is not None and sys.getrefcount(each) > _ALONE + 1
        }  # fmt: skip
        for reference in list(self._registered.values()):
            tensor = reference()
            if tensor is not None:
                found[id(tensor)] = tensor
        return [each for each in found.values() if device is None or _is_on(each, device)]

    def collect_sync_tensors(self, tensors: Sequence[Any]) -> list[int]:
        """Which of `tensors` a sync has to compute: pending ones, each once."""
        seen: dict[int, int] = {}
        for index, tensor in enumerate(tensors):
            if tensor._node is not None:
                seen.setdefault(id(tensor), index)
        return list(seen.values())

    def run_post_order(self, tensors: Sequence[Any]) -> list[Node]:
        """The operations that compute `tensors`, operands first."""
        return piece_of(tensors).graph.nodes

    # Syncing

    def sync_tensors_graph(
        self, tensors: Iterable[Any], devices: Iterable[Any] = (), wait: bool = False
    ) -> None:
        """Compute some tensors, and what was recorded with them."""
        sync_multi(tensors, devices)
        if wait:
            inflight.wait()

    def sync_live_tensors_graph(
        self, device: Any = None, devices: Iterable[Any] = (), wait: bool = False
    ) -> None:
        """Compute everything that is pending."""
        traces.current.launch("sync_live_tensors")
        if wait:
            inflight.wait()

    def mark_step(self, device: str = "") -> None:
        """End a step."""
        mark_step(device)

    def wait_device_ops(self, devices: Sequence[str] = ()) -> None:
        """Return when every run is over."""
        wait_device_ops(devices)

    def device_barrier(self, device: Any = None) -> None:
        """Return when nobody holds the device's lock and every run is over."""
        device_context.device_barrier(device)
        inflight.wait()

    def lock_devices(
        self, devices: Iterable[Any]
    ) -> AbstractContextManager[list[DeviceContext]]:
        """Hold several devices' locks, taken in one order everywhere."""
        return device_context.locked(devices)

    def get_tensors(self, tensors: Sequence[Any]) -> list[Any]:
        """The values of all tensors, by one execution; equal tensors come as one."""
        count("SyncTensorsToData")
        sync_multi(tensors)
        inflight.wait()
        made: dict[int, Any] = {}
        with eager(), no_grad_recording():
            for tensor in tensors:
                if id(tensor) not in made:
                    made[id(tensor)] = t.clone(tensor.detach())
        return [made[id(each)] for each in tensors]

    # Graphs and caches

    def get_graph_hash(self, tensors: Sequence[Any]) -> str:
        """A name for what computes `tensors`."""
        return get_graph_hash(tensors)

    def get_tensors_device_data(self, tensors: Sequence[Any]) -> tuple[list[int], list[Any]]:
        """What goes into the graph of `tensors`."""
        return get_tensors_device_data_node(tensors)

    def run_cached_graph(self, name: str, inputs: Sequence[Any]) -> list[Any]:
        """The results of a graph on given inputs."""
        return run_cached_graph(name, inputs)

    def compile(self, tensors: Sequence[Any]) -> Computation:
        """The computation of `tensors`, compiled."""
        computation = computation_of(piece_of(tensors).graph, {})
        computation.compiled()
        return computation

    def dump_backend_computation(self, tensors: Sequence[Any]) -> str:
        """The program that computes `tensors`."""
        return self.compile(tensors).compiled().text()

    def get_computation_cache(self) -> Cache[str, Computation]:
        """Compiled graphs by the hash of what they compute."""
        return computations

    def clear_caches(self) -> None:
        """Forget compiled graphs, constants and paths; what is pending is launched first."""
        ir_cache.reset()
        computations.clear()
        self.device_data.entries.clear()

    def set_noop_execution_mode(self, enabled: bool) -> None:
        """Compute nothing: results have memory and no meaning, as when tracing is measured."""
        noop.switch(enabled)

    def increment_trim_counter(self) -> None:
        """Count one more moment at which memory could be given back."""
        with self._lock:
            self._trimmed = next(self._trims)

    @property
    def trim_counter(self) -> int:
        """How often memory could have been given back."""
        return self._trimmed

    # Numbers

    @staticmethod
    def is_special_scalar(value: Any) -> bool:
        """Whether a number is so common that it is worth a graph of its own: 0 and 1."""
        return isinstance(value, (bool, int, float)) and value in (0, 1)

    def get_ir_value_for_scalar(self, value: Any, element: dtype, device: Any = None) -> Any:
        """A number as a 0-dim tensor: part of the graph if it is special, else kept as data."""
        where = device_context.device_name(device)
        if self.is_special_scalar(value):
            return t.full((), value, dtype=element, device=where)

        def made() -> Any:
            with eager(), no_grad_recording():
                return t.full((), value, dtype=element, device=where)

        return self.device_data.get(value, element, made)

    def get_ir_value_for_expanded_scalar(
        self, value: Any, shape: Sequence[int], element: dtype, device: Any = None
    ) -> Any:
        """A number in every place of a shape, as a view of one."""
        return t.expand(self.get_ir_value_for_scalar(value, element, device), list(shape))

    # Random numbers

    get_rng_seed = staticmethod(device_context.get_rng_seed)
    get_running_seed = staticmethod(device_context.get_running_seed)
    set_rng_seed = staticmethod(device_context.set_rng_seed)


def _is_on(tensor: TensorBase, device: Any) -> bool:
    return device_context.device_name(tensor._spec.device) == device_context.device_name(device)
