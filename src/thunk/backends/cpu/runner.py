"""Enters: a table of steps. Leaves: the native function that walks it, and the threads it uses.

Invariant: between two steps no Python runs, unless the step is a call back; a step that sets the
status is the last one, and its number stands behind the status.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

from thunk.backends.cpu.llvm.jit import loader
from thunk.base.config import config

KERNEL, PARALLEL, LIBRARY, CALLBACK = range(4)
STEP_WORDS = 6  # kind, function, operand table, count, context, pointers

_WALK = """
%worker.args = type { ptr, ptr, ptr, i64, ptr, ptr }

define void @NAME_worker(ptr %args) {
  %function.at = getelementptr %worker.args, ptr %args, i64 0, i32 0
  %function = load ptr, ptr %function.at
  %bases.at = getelementptr %worker.args, ptr %args, i64 0, i32 1
  %bases = load ptr, ptr %bases.at
  %operands.at = getelementptr %worker.args, ptr %args, i64 0, i32 2
  %operands = load ptr, ptr %operands.at
  %units.at = getelementptr %worker.args, ptr %args, i64 0, i32 3
  %units = load i64, ptr %units.at
  %number.at = getelementptr %worker.args, ptr %args, i64 0, i32 4
  %number = load ptr, ptr %number.at
  %count.at = getelementptr %worker.args, ptr %args, i64 0, i32 5
  %count = load ptr, ptr %count.at
  %mine32 = call i32 %number()
  %all32 = call i32 %count()
  %mine = zext i32 %mine32 to i64
  %all = zext i32 %all32 to i64
  %next = add i64 %mine, 1
  %low = mul i64 %units, %mine
  %high = mul i64 %units, %next
  %begin = udiv i64 %low, %all
  %end = udiv i64 %high, %all
  %some = icmp ult i64 %begin, %end
  br i1 %some, label %work, label %done
work:
  call void %function(ptr %bases, ptr %operands, i64 %begin, i64 %end)
  br label %done
done:
  ret void
}

define void @NAME(ptr %steps, i64 %count, ptr %bases, ptr %threads, ptr %times) {
entry:
  %args = alloca %worker.args
  %status.at = getelementptr i64, ptr %bases, i64 2
  %status = load ptr, ptr %status.at
  %step.at = getelementptr i64, ptr %status, i64 1
  %fork = load ptr, ptr %threads
  %wanted.at = getelementptr i64, ptr %threads, i64 3
  %wanted = load i64, ptr %wanted.at
  %wanted32 = trunc i64 %wanted to i32
  %number.at = getelementptr i64, ptr %threads, i64 1
  %number = load ptr, ptr %number.at
  %all.at = getelementptr i64, ptr %threads, i64 2
  %all = load ptr, ptr %all.at
  %a0 = getelementptr %worker.args, ptr %args, i64 0, i32 1
  store ptr %bases, ptr %a0
  %a1 = getelementptr %worker.args, ptr %args, i64 0, i32 4
  store ptr %number, ptr %a1
  %a2 = getelementptr %worker.args, ptr %args, i64 0, i32 5
  store ptr %all, ptr %a2
  %timed = icmp ne ptr %times, null
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %step, label %done

step:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %base = mul i64 %i, 6
  %at = getelementptr i64, ptr %steps, i64 %base
  br i1 %timed, label %clock, label %choose
clock:
  %now = call i64 @llvm.readcyclecounter()
  %slot = getelementptr i64, ptr %times, i64 %i
  store i64 %now, ptr %slot
  br label %choose
choose:
  %kind = load i64, ptr %at
  %function.at = getelementptr i64, ptr %at, i64 1
  %function = load ptr, ptr %function.at
  %operands.at = getelementptr i64, ptr %at, i64 2
  %operands = load ptr, ptr %operands.at
  %units.at = getelementptr i64, ptr %at, i64 3
  %units = load i64, ptr %units.at
  %context.at = getelementptr i64, ptr %at, i64 4
  %context = load ptr, ptr %context.at
  switch i64 %kind, label %kernel [
    i64 1, label %parallel
    i64 2, label %library
    i64 3, label %back
  ]

parallel:
  %several = icmp sgt i64 %wanted, 1
  br i1 %several, label %forked, label %kernel
forked:
  store ptr %function, ptr %args
  %p1 = getelementptr %worker.args, ptr %args, i64 0, i32 2
  store ptr %operands, ptr %p1
  %p2 = getelementptr %worker.args, ptr %args, i64 0, i32 3
  store i64 %units, ptr %p2
  call void %fork(ptr @NAME_worker, ptr %args, i32 %wanted32, i32 0)
  br label %next

kernel:
  call void %function(ptr %bases, ptr %operands, i64 0, i64 %units)
  br label %next

library:
  %pointers.at = getelementptr i64, ptr %at, i64 5
  %pointers = load ptr, ptr %pointers.at
  %has = icmp sgt i64 %units, 0
  br i1 %has, label %resolve, label %call
resolve:
  %k = phi i64 [ 0, %library ], [ %k.next, %resolve ]
  %k2 = mul i64 %k, 2
  %pair = getelementptr i64, ptr %operands, i64 %k2
  %which = load i64, ptr %pair
  %offset.at = getelementptr i64, ptr %pair, i64 1
  %offset = load i64, ptr %offset.at
  %start.at = getelementptr i64, ptr %bases, i64 %which
  %start = load ptr, ptr %start.at
  %address = getelementptr i8, ptr %start, i64 %offset
  %into = getelementptr i64, ptr %pointers, i64 %k
  store ptr %address, ptr %into
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %units
  br i1 %more, label %resolve, label %call
call:
  %failed = call i32 %function(ptr %pointers, ptr %context)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %fail, label %next
fail:
  %code = sext i32 %failed to i64
  %marked = or i64 %code, 1073741824
  store i64 %marked, ptr %status
  br label %next

back:
  call void %function(i64 %i, ptr %bases)
  br label %next

next:
  %following = add i64 %i, 1
  store i64 %i, ptr %step.at
  %state = load volatile i64, ptr %status
  %fine = icmp eq i64 %state, 0
  %left = icmp slt i64 %following, %count
  %go = and i1 %fine, %left
  br i1 %go, label %step, label %done
done:
  br i1 %timed, label %final, label %out
final:
  %last = call i64 @llvm.readcyclecounter()
  %end.slot = getelementptr i64, ptr %times, i64 %count
  store i64 %last, ptr %end.slot
  br label %out
out:
  ret void
}

declare i64 @llvm.readcyclecounter()
"""

Runner = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


@cache
def runner() -> Any:
    """The function that walks a table of steps; it lets other Python threads run meanwhile."""
    name = "thunk_walk"
    return Runner(loader().address(name, _WALK, lambda: _WALK.replace("NAME", name)))


class Threads:
    """The pool that parallel steps fork on: libgomp's, or none where it is missing."""

    def __init__(self) -> None:
        self.library = _find_pool()
        self.table = (ctypes.c_int64 * 4)()
        if self.library is not None:
            for position, name in enumerate(
                ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
            ):
                function = getattr(self.library, name)
                self.table[position] = ctypes.cast(function, ctypes.c_void_p).value or 0
        self.follow()
        os.register_at_fork(after_in_child=self._after_fork)

    @property
    def count(self) -> int:
        """How many threads a parallel step uses."""
        return int(self.table[3])

    def set(self, count: int) -> None:
        """Use `count` threads; one where there is no pool."""
        self.table[3] = max(1, count) if self.library is not None else 1

    def follow(self) -> None:
        """Use as many as the option says."""
        self.set(config.threads or _cores())

    def _after_fork(self) -> None:
        """The pool's threads did not survive; entering it again would wait for them for ever."""
        self.library = None
        self.table[3] = 1

    @property
    def address(self) -> int:
        return ctypes.addressof(self.table)


def _find_pool() -> Any:
    if not config.openmp:
        return None
    try:
        return ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


_threads: list[Threads] = []


def threads() -> Threads:
    """The process's pool."""
    if not _threads:
        _threads.append(Threads())
    return _threads[0]


def _follow() -> None:
    for each in _threads:
        each.follow()


config.watch("threads", _follow)
