"""Enters: wishes for threads. Leaves: the one OpenMP pool that loops and libraries share.

Invariant: a forked child never enters a pool whose threads stayed in its parent: there every call
runs on the thread that makes it.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from functools import cache
from typing import Any, Final, Protocol

from thunk.backends.cpu.calls.native import address_of, define_symbols
from thunk.backends.cpu.calls.openblas import hold
from thunk.base.config import config

OPENMP: Final = "libgomp.so.1"


class Threaded(Protocol):
    """What must be told when the process was forked."""

    def become_serial(self) -> None: ...


_threaded: Final[weakref.WeakSet[Any]] = weakref.WeakSet()
_forked: Final = ctypes.c_int64(0)


@cache
def openmp() -> ctypes.CDLL | None:
    """The OpenMP runtime, known to compiled code by name; None where there is none."""
    if not config.openmp:
        return None
    try:
        library = ctypes.CDLL(OPENMP)
    except OSError:
        return None
    names = ("omp_get_max_threads", "omp_set_num_threads", "omp_get_thread_num")
    parallel = ("omp_get_num_threads", "GOMP_parallel", "GOMP_barrier")
    define_symbols({name: address_of(getattr(library, name)) for name in (*names, *parallel)})
    return library


def is_forked() -> bool:
    """Whether this process is a child that inherited its memory and not the pool's threads."""
    return bool(_forked.value)


def usable_threads(wanted: int) -> int:
    """How many threads a call may have when `wanted` are wished for."""
    if wanted < 1:
        raise ValueError(f"threads: expected at least one, got {wanted}")
    if wanted == 1 or is_forked() or openmp() is None:
        return 1
    hold()
    return wanted


def watch_fork(threaded: Threaded) -> None:
    """Tell `threaded`, while it lives, in every forked child."""
    _threaded.add(threaded)


def _in_child() -> None:
    _forked.value = 1
    for threaded in list(_threaded):
        threaded.become_serial()


os.register_at_fork(after_in_child=_in_child)
