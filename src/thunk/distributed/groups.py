"""Enters: `init_process_group` and its like. Leaves: the group of this process alone.

Invariant: more than one process is refused when the group is made, not when data is missing.
"""

from __future__ import annotations

import os
from enum import Enum
from typing import Any, Final


class ReduceOp(Enum):
    """How values of several processes become one; of one process they stay what they are."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class Backend(str):
    """The name of a transport."""

    __slots__ = ()

    UNDEFINED: Final = "undefined"
    GLOO: Final = "gloo"
    NCCL: Final = "nccl"
    MPI: Final = "mpi"
    UCC: Final = "ucc"

    def __new__(cls, name: str) -> Backend:
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """A group of processes: this one."""

    def __init__(self, backend: str = Backend.GLOO) -> None:
        self.backend = backend

    def rank(self) -> int:
        """This process's number in the group."""
        return 0

    def size(self) -> int:
        """How many processes the group has."""
        return 1

    def name(self) -> str:
        """The transport."""
        return self.backend


class Work:
    """A collective that was started; in a group of one it is done at once."""

    def __init__(self, result: Any = None) -> None:
        self._result = result

    def wait(self, timeout: Any = None) -> bool:
        """Wait until it is done."""
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        return True

    def is_success(self) -> bool:
        """Whether it went well."""
        return True

    def exception(self) -> None:
        """What went wrong: nothing."""

    def result(self) -> Any:
        """The tensors that it filled."""
        return self._result


class _Groups:
    """The groups of this process."""

    def __init__(self) -> None:
        self.world: ProcessGroup | None = None


_groups = _Groups()


class _WorldOf(type):
    """Reads the default group when asked for it."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        return _groups.world


class group(metaclass=_WorldOf):
    """`group.WORLD` is the default group."""


class GroupMember(metaclass=_WorldOf):
    """`GroupMember.WORLD` is the default group."""

    NON_GROUP_MEMBER: Final = object()


def is_available() -> bool:
    """Whether this module can be used."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return _groups.world is not None


def is_gloo_available() -> bool:
    """Whether Gloo's name is accepted: in a group of one no transport is needed."""
    return True


def is_nccl_available() -> bool:
    """Whether NCCL can be used: never."""
    return False


def is_mpi_available() -> bool:
    """Whether MPI can be used: never."""
    return False


def is_ucc_available() -> bool:
    """Whether UCC can be used: never."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether a launcher of PyTorch's started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def _count(value: int, variable: str, default: int) -> int:
    return int(os.environ.get(variable, default)) if value < 0 else value


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make the group of this process; WORLD_SIZE and RANK say how many and which, as launched."""
    if _groups.world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    size, place = _count(world_size, "WORLD_SIZE", 1), _count(rank, "RANK", 0)
    if size != 1 or place != 0:
        raise RuntimeError(
            f"init_process_group: expected world_size 1 and rank 0, got {size} and {place}; this "
            "build trains in one process, on all its cores"
        )
    name = Backend(backend or Backend.GLOO)
    if name in (Backend.NCCL, Backend.MPI, Backend.UCC):
        raise RuntimeError(
            f"init_process_group: expected 'gloo', got Distributed package doesn't have "
            f"{name.upper()} built in; pass backend='gloo'"
        )
    _groups.world = ProcessGroup(name)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group, by default all of them."""
    if group is None or group is _groups.world:
        _groups.world = None


def world() -> ProcessGroup:
    """The default group; an error before `init_process_group`."""
    if _groups.world is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return _groups.world


def _member(group: ProcessGroup | None) -> ProcessGroup:
    return world() if group is None else group


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's number."""
    return _member(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes there are."""
    return _member(group).size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """The transport's name."""
    return _member(group).name()


def get_process_group_ranks(group: ProcessGroup | None = None) -> list[int]:
    """The numbers of a group's processes."""
    return list(range(_member(group).size()))


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The number, among all, of a group's process."""
    return group_rank


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number, within a group, of a process."""
    return global_rank


def new_group(
    ranks: list[int] | None = None, timeout: Any = None, backend: str | None = None, **_: Any
) -> ProcessGroup:
    """A group of some of the processes."""
    default = world()
    if ranks is not None and list(ranks) != [0]:
        raise ValueError(f"new_group: expected ranks [0], got {list(ranks)}; there is one process")
    return ProcessGroup(Backend(backend) if backend else default.backend)
