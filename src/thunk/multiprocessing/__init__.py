"""`thunk.multiprocessing`: Python's `multiprocessing`, and PyTorch's way to start many processes.

Invariant: tensors are sent by value unless their memory is shared; a child's failure is raised.
"""

import multiprocessing
from multiprocessing import (
    Array,
    Barrier,
    BoundedSemaphore,
    Condition,
    Event,
    JoinableQueue,
    Lock,
    Manager,
    Pipe,
    Pool,
    Process,
    ProcessError,
    Queue,
    RLock,
    Semaphore,
    SimpleQueue,
    TimeoutError,
    Value,
    active_children,
    cpu_count,
    current_process,
    freeze_support,
    get_all_start_methods,
    get_context,
    get_start_method,
    parent_process,
    set_start_method,
)

from thunk.multiprocessing.spawning import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

_strategies = {"file_system"}


def get_all_sharing_strategies() -> set[str]:
    """How shared memory may be passed on."""
    return set(_strategies)


def get_sharing_strategy() -> str:
    """How shared memory is passed on."""
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how shared memory is passed on; both of PyTorch's names are accepted."""
    if new_strategy not in ("file_system", "file_descriptor"):
        raise AssertionError(
            f"set_sharing_strategy: expected file_system or file_descriptor, got {new_strategy!r}"
        )


reductions = multiprocessing.reduction

__all__ = [
    "Array", "Barrier", "BoundedSemaphore", "Condition", "Event", "JoinableQueue", "Lock",
    "Manager", "Pipe", "Pool", "Process", "ProcessContext", "ProcessError",
    "ProcessExitedException", "ProcessRaisedException", "Queue", "RLock", "Semaphore",
    "SimpleQueue", "SpawnContext", "TimeoutError", "Value", "active_children", "cpu_count",
    "current_process", "freeze_support", "get_all_sharing_strategies", "get_all_start_methods",
    "get_context", "get_sharing_strategy", "get_start_method", "parent_process",
    "set_sharing_strategy", "set_start_method", "spawn", "start_processes",
]  # fmt: skip
