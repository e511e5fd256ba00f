"""Enters: nothing. Leaves: the machine code of a thread that runs queued jobs, and of its queue.

Invariant: a job is visible before its ticket is, and its results before it counts as completed;
whoever sleeps was seen asleep by whoever would have to wake it.

A job is a row of words (`JOB_WORDS`): what to call, its five arguments, and its ticket. The state
is a table of words shared with Python: see the names below. A job that leaves a status other than 0
halts the queue: jobs behind it are marked as skipped instead of run, until Python has decided which
of them can still run.
"""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from typing import Any, Final, NamedTuple

from thunk.backends.cpu.llvm.jit import loader
from thunk.backends.cpu.status import SKIPPED

WALK, STEPS, COUNT, BASES, THREADS, TIMES, TICKET = range(7)
JOB_WORDS: Final = 8

# Words of the state; what different threads write lies in different cache lines.
SUBMITTED, MASK, RING, IDLE_SPINS, SET_MASK, LIMIT = range(6)
COMPLETED: Final = 8
ASLEEP, WAITERS, WANTED, STOPPING, HALTED, THREAD = range(16, 22)
MUTEX, WORK, FINISHED = 24, 40, 56  # 128 bytes each, more than any C library's
STATE_WORDS: Final = 72

_TEXT = """
@NAME = constant [5 x ptr] [ptr @start, ptr @submit, ptr @wait, ptr @completed, ptr @stop]

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()
declare i64 @llvm.smin.i64(i64, i64)
PAUSE_DECLARATION

define internal i32 @start(ptr %state) {
  %mutex = getelementptr i64, ptr %state, i64 MUTEX
  %work = getelementptr i64, ptr %state, i64 WORK
  %finished = getelementptr i64, ptr %state, i64 FINISHED
  %thread = getelementptr i64, ptr %state, i64 THREAD
  %how.at = getelementptr i64, ptr %state, i64 SET_MASK
  %how = load i32, ptr %how.at
  %m = call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  %w = call i32 @pthread_cond_init(ptr %work, ptr null)
  %f = call i32 @pthread_cond_init(ptr %finished, ptr null)
  %all = alloca [32 x i64]
  %before = alloca [32 x i64]
  %filled = call i32 @sigfillset(ptr %all)
  %blocked = call i32 @pthread_sigmask(i32 %how, ptr %all, ptr %before)
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @main, ptr %state)
  %restored = call i32 @pthread_sigmask(i32 %how, ptr %before, ptr null)
  ret i32 %failed
}

; One turn of a loop that hopes for news soon; now and then it lets others have the core.
define internal void @relax(i64 %turn) {
  PAUSE
  %part = and i64 %turn, 31
  %often = icmp ne i64 %part, 0
  br i1 %often, label %out, label %yield
yield:
  %yielded = call i32 @sched_yield()
  br label %out
out:
  ret void
}

define internal i64 @completed(ptr %state) {
  %at = getelementptr i64, ptr %state, i64 COMPLETED
  %count = load atomic i64, ptr %at acquire, align 8
  ret i64 %count
}

; The number of completed jobs, or -1 where the queue is full. One thread at a time.
define internal i64 @submit(ptr %state, ptr %job) {
  %completed.at = getelementptr i64, ptr %state, i64 COMPLETED
  %mask.at = getelementptr i64, ptr %state, i64 MASK
  %ring.at = getelementptr i64, ptr %state, i64 RING
  %asleep.at = getelementptr i64, ptr %state, i64 ASLEEP
  %submitted = load i64, ptr %state
  %completed = load atomic i64, ptr %completed.at acquire, align 8
  %mask = load i64, ptr %mask.at
  %queued = sub i64 %submitted, %completed
  %limit.at = getelementptr i64, ptr %state, i64 LIMIT
  %limit = load i64, ptr %limit.at
  %full = icmp sge i64 %queued, %limit
  br i1 %full, label %refuse, label %accept
refuse:
  ret i64 -1
accept:
  %ring = load ptr, ptr %ring.at
  %slot = and i64 %submitted, %mask
  %place = getelementptr ptr, ptr %ring, i64 %slot
  store ptr %job, ptr %place
  %ticket = add i64 %submitted, 1
  %ticket.at = getelementptr i64, ptr %job, i64 TICKET
  store i64 %ticket, ptr %ticket.at
  store atomic i64 %ticket, ptr %state seq_cst, align 8
  %asleep = load atomic i64, ptr %asleep.at seq_cst, align 8
  %sleeps = icmp ne i64 %asleep, 0
  br i1 %sleeps, label %wake, label %out
wake:
  %mutex = getelementptr i64, ptr %state, i64 MUTEX
  %work = getelementptr i64, ptr %state, i64 WORK
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %signalled = call i32 @pthread_cond_signal(ptr %work)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %out
out:
  ret i64 %completed
}

; 1 once so many jobs are completed, 0 if that takes longer than the given time. It looks for news
; some times before it sleeps; the worker wakes sleepers once the first wanted ticket is reached.
define internal i64 @wait(ptr %state, i64 %ticket, i64 %nanoseconds, i64 %spins) {
entry:
  %completed.at = getelementptr i64, ptr %state, i64 COMPLETED
  %waiters.at = getelementptr i64, ptr %state, i64 WAITERS
  %wanted.at = getelementptr i64, ptr %state, i64 WANTED
  br label %look
look:
  %left = phi i64 [ %spins, %entry ], [ %less, %again ]
  %seen = load atomic i64, ptr %completed.at acquire, align 8
  %done = icmp sge i64 %seen, %ticket
  br i1 %done, label %yes, label %spin
spin:
  %tired = icmp sle i64 %left, 0
  br i1 %tired, label %sleep, label %again
again:
  call void @relax(i64 %left)
  %less = sub i64 %left, 1
  br label %look
sleep:
  %mutex = getelementptr i64, ptr %state, i64 MUTEX
  %finished = getelementptr i64, ptr %state, i64 FINISHED
  %time = alloca [2 x i64]
  %clock = call i32 @clock_gettime(i32 0, ptr %time)
  %part.at = getelementptr i64, ptr %time, i64 1
  %seconds = load i64, ptr %time
  %part = load i64, ptr %part.at
  %sum = add i64 %part, %nanoseconds
  %carry = udiv i64 %sum, 1000000000
  %rest = urem i64 %sum, 1000000000
  %later = add i64 %seconds, %carry
  store i64 %later, ptr %time
  store i64 %rest, ptr %part.at
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %before = load i64, ptr %waiters.at
  %more = add i64 %before, 1
  store atomic i64 %more, ptr %waiters.at seq_cst, align 8
  br label %check
check:
  %others = load i64, ptr %wanted.at
  %first = call i64 @llvm.smin.i64(i64 %others, i64 %ticket)
  store i64 %first, ptr %wanted.at
  %now = load atomic i64, ptr %completed.at seq_cst, align 8
  %ready = icmp sge i64 %now, %ticket
  br i1 %ready, label %awake, label %doze
doze:
  %timed = call i32 @pthread_cond_timedwait(ptr %finished, ptr %mutex, ptr %time)
  %woken = icmp eq i32 %timed, 0
  br i1 %woken, label %check, label %awake
awake:
  %after = load i64, ptr %waiters.at
  %fewer = sub i64 %after, 1
  store atomic i64 %fewer, ptr %waiters.at seq_cst, align 8
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  %last = load atomic i64, ptr %completed.at acquire, align 8
  %over = icmp sge i64 %last, %ticket
  %answer = zext i1 %over to i64
  ret i64 %answer
yes:
  ret i64 1
}

define internal i32 @stop(ptr %state) {
  %mutex = getelementptr i64, ptr %state, i64 MUTEX
  %work = getelementptr i64, ptr %state, i64 WORK
  %stopping = getelementptr i64, ptr %state, i64 STOPPING
  %thread.at = getelementptr i64, ptr %state, i64 THREAD
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  store atomic i64 1, ptr %stopping seq_cst, align 8
  %signalled = call i32 @pthread_cond_signal(ptr %work)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  %thread = load i64, ptr %thread.at
  %joined = call i32 @pthread_join(i64 %thread, ptr null)
  ret i32 %joined
}

define internal void @run(ptr %state, ptr %job) {
  %bases.at = getelementptr i64, ptr %job, i64 BASES
  %bases = load ptr, ptr %bases.at
  %status.at = getelementptr ptr, ptr %bases, i64 2
  %status = load ptr, ptr %status.at
  %halted.at = getelementptr i64, ptr %state, i64 HALTED
  %halted = load atomic i64, ptr %halted.at acquire, align 8
  %halts = icmp ne i64 %halted, 0
  br i1 %halts, label %skip, label %walk
skip:
  store i64 SKIPPED, ptr %status
  ret void
walk:
  %steps.at = getelementptr i64, ptr %job, i64 STEPS
  %count.at = getelementptr i64, ptr %job, i64 COUNT
  %threads.at = getelementptr i64, ptr %job, i64 THREADS
  %times.at = getelementptr i64, ptr %job, i64 TIMES
  %function = load ptr, ptr %job
  %steps = load ptr, ptr %steps.at
  %count = load i64, ptr %count.at
  %threads = load ptr, ptr %threads.at
  %times = load ptr, ptr %times.at
  call void %function(ptr %steps, i64 %count, ptr %bases, ptr %threads, ptr %times)
  %state.now = load volatile i64, ptr %status
  %failed = icmp ne i64 %state.now, 0
  br i1 %failed, label %halt, label %done
halt:
  store atomic i64 1, ptr %halted.at release, align 8
  br label %done
done:
  ret void
}

define internal ptr @main(ptr %state) {
entry:
  %mask.at = getelementptr i64, ptr %state, i64 MASK
  %ring.at = getelementptr i64, ptr %state, i64 RING
  %spins.at = getelementptr i64, ptr %state, i64 IDLE_SPINS
  %completed.at = getelementptr i64, ptr %state, i64 COMPLETED
  %asleep.at = getelementptr i64, ptr %state, i64 ASLEEP
  %waiters.at = getelementptr i64, ptr %state, i64 WAITERS
  %wanted.at = getelementptr i64, ptr %state, i64 WANTED
  %stopping.at = getelementptr i64, ptr %state, i64 STOPPING
  %mutex = getelementptr i64, ptr %state, i64 MUTEX
  %work = getelementptr i64, ptr %state, i64 WORK
  %finished = getelementptr i64, ptr %state, i64 FINISHED
  %mask = load i64, ptr %mask.at
  %ring = load ptr, ptr %ring.at
  br label %begin
begin:
  %completed = load i64, ptr %completed.at
  %spins = load i64, ptr %spins.at
  br label %look
look:
  %left = phi i64 [ %spins, %begin ], [ %less, %again ]
  %submitted = load atomic i64, ptr %state acquire, align 8
  %some = icmp sgt i64 %submitted, %completed
  br i1 %some, label %job, label %spin
spin:
  %tired = icmp sle i64 %left, 0
  br i1 %tired, label %sleep, label %again
again:
  call void @relax(i64 %left)
  %less = sub i64 %left, 1
  br label %look
job:
  %slot = and i64 %completed, %mask
  %place = getelementptr ptr, ptr %ring, i64 %slot
  %which = load ptr, ptr %place
  call void @run(ptr %state, ptr %which)
  %count = add i64 %completed, 1
  store atomic i64 %count, ptr %completed.at seq_cst, align 8
  %waiters = load atomic i64, ptr %waiters.at seq_cst, align 8
  %waited = icmp ne i64 %waiters, 0
  br i1 %waited, label %tell, label %begin
tell:
  %locked.tell = call i32 @pthread_mutex_lock(ptr %mutex)
  %wanted = load i64, ptr %wanted.at
  %reached = icmp sge i64 %count, %wanted
  br i1 %reached, label %broadcast, label %told
broadcast:
  store i64 9223372036854775807, ptr %wanted.at
  %woken.tell = call i32 @pthread_cond_broadcast(ptr %finished)
  br label %told
told:
  %unlocked.tell = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %begin
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  store atomic i64 1, ptr %asleep.at seq_cst, align 8
  br label %check
check:
  %last = load atomic i64, ptr %state seq_cst, align 8
  %came = icmp sgt i64 %last, %completed
  %stopping = load atomic i64, ptr %stopping.at seq_cst, align 8
  %stops = icmp ne i64 %stopping, 0
  %up = or i1 %came, %stops
  br i1 %up, label %rise, label %doze
doze:
  %woken = call i32 @pthread_cond_wait(ptr %work, ptr %mutex)
  br label %check
rise:
  store atomic i64 0, ptr %asleep.at seq_cst, align 8
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br i1 %came, label %begin, label %out
out:
  ret ptr null
}
"""

_PAUSES: Final = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}


class Queue(NamedTuple):
    """The native functions; those that may block let other Python threads run."""

    start: Any
    submit: Any
    wait: Any
    completed: Any
    stop: Any


def _text(name: str) -> str:
    """The module, with the places of words instead of their names."""
    declaration, call = _PAUSES.get(platform.machine(), ("", ""))
    text = _TEXT.replace("PAUSE_DECLARATION", declaration).replace("PAUSE", call)
    words = {
        "MUTEX": MUTEX, "WORK": WORK, "FINISHED": FINISHED, "THREAD": THREAD,
        "SET_MASK": SET_MASK, "COMPLETED": COMPLETED, "MASK": MASK, "RING": RING,
        "ASLEEP": ASLEEP, "TICKET": TICKET, "WAITERS": WAITERS, "WANTED": WANTED,
        "STOPPING": STOPPING, "BASES": BASES, "HALTED": HALTED, "SKIPPED": SKIPPED,
        "STEPS": STEPS, "COUNT": COUNT, "THREADS": THREADS, "TIMES": TIMES,
        "IDLE_SPINS": IDLE_SPINS, "LIMIT": LIMIT,
    }  # fmt: skip
    for word, value in words.items():
        text = text.replace(f"i64 {word}\n", f"i64 {value}\n").replace(
            f"i64 {word},", f"i64 {value},"
        )
    return text.replace("NAME", name)


@cache
def queue() -> Queue:
    """The functions of the queue, compiled once a process."""
    name = "thunk_queue"
    text = _text(name)
    table = (ctypes.c_void_p * 5).from_address(loader().address(name, text, lambda: text))
    pointer, word = ctypes.c_void_p, ctypes.c_int64
    kinds = (
        ctypes.PYFUNCTYPE(ctypes.c_int, pointer),
        ctypes.PYFUNCTYPE(word, pointer, pointer),
        ctypes.CFUNCTYPE(word, pointer, word, word, word),
        ctypes.PYFUNCTYPE(word, pointer),
        ctypes.CFUNCTYPE(ctypes.c_int, pointer),
    )
    return Queue(*[kind(address) for kind, address in zip(kinds, table, strict=True)])
