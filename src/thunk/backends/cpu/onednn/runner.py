"""Enters: nothing. Leaves: the machine code that runs a primitive.

Words of a context: what to call before the next run, or 0; primitive; stream; count and address of
the execution arguments; count of operands; threads; then for each operand its memory object and the
address that this object holds now. Setting an address costs a third of a small call, so it happens
only when an operand has moved since the last run.
Invariant: the number of OpenMP threads is the same after a run as before it.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from thunk.backends.cpu.calls.native import define_symbols, native
from thunk.backends.cpu.calls.pool import openmp
from thunk.backends.cpu.onednn import api

HEAD: Final = 7
EACH: Final = 2

_TEXT: Final = """
declare i32 @dnnl_primitive_execute(ptr, ptr, i32, ptr)
declare i32 @dnnl_memory_set_data_handle(ptr, ptr)
declare i32 @omp_get_max_threads()
declare void @omp_set_num_threads(i32)

define i32 @run(ptr %pointers, ptr %context) {
entry:
  %before_run = load ptr, ptr %context
  %ready = icmp eq ptr %before_run, null
  br i1 %ready, label %start, label %wake

wake:
  %woken = call i32 %before_run(ptr %context)
  %awake = icmp eq i32 %woken, 0
  br i1 %awake, label %start, label %failed

failed:
  ret i32 %woken

start:
  %count_at = getelementptr i64, ptr %context, i64 5
  %count = load i64, ptr %count_at
  %operands = getelementptr i64, ptr %context, i64 7
  br label %operand

operand:
  %index = phi i64 [ 0, %start ], [ %next, %set ]
  %word = shl i64 %index, 1
  %memory_at = getelementptr i64, ptr %operands, i64 %word
  %held_at = getelementptr i64, ptr %memory_at, i64 1
  %address_at = getelementptr ptr, ptr %pointers, i64 %index
  %address = load ptr, ptr %address_at
  %held = load ptr, ptr %held_at
  %same = icmp eq ptr %held, %address
  br i1 %same, label %set, label %move

move:
  %memory = load ptr, ptr %memory_at
  %moved = call i32 @dnnl_memory_set_data_handle(ptr %memory, ptr %address)
  store ptr %address, ptr %held_at
  br label %set

set:
  %next = add i64 %index, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %operand, label %execute

execute:
  %primitive_at = getelementptr i64, ptr %context, i64 1
  %stream_at = getelementptr i64, ptr %context, i64 2
  %size_at = getelementptr i64, ptr %context, i64 3
  %arguments_at = getelementptr i64, ptr %context, i64 4
  %threads_at = getelementptr i64, ptr %context, i64 6
  %primitive = load ptr, ptr %primitive_at
  %stream = load ptr, ptr %stream_at
  %size = load i32, ptr %size_at
  %arguments = load ptr, ptr %arguments_at
  %threads = load i32, ptr %threads_at
  %before = call i32 @omp_get_max_threads()
  %right = icmp eq i32 %before, %threads
  br i1 %right, label %go, label %other

go:
  %status = call i32 @dnnl_primitive_execute(ptr %primitive, ptr %stream, i32 %size, ptr %arguments)
  ret i32 %status

other:
  call void @omp_set_num_threads(i32 %threads)
  %result = call i32 @dnnl_primitive_execute(ptr %primitive, ptr %stream, i32 %size, ptr %arguments)
  call void @omp_set_num_threads(i32 %before)
  ret i32 %result
}
"""


@native("run")
def _run() -> str:
    return _TEXT


@cache
def runner() -> int:
    """The address of the function that runs a primitive."""
    openmp()
    names = ("primitive_execute", "memory_set_data_handle")
    define_symbols({f"dnnl_{name}": api.address(name) for name in names})
    return _run()
