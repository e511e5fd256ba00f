"""Lazy execution: operations are recorded on a trie, cut into graphs, and run when needed."""

from thunk.lazy import (
    closure,
    computation,
    config,
    debug,
    device_context,
    ir_cache,
    metrics,
    ts_backend,
)
from thunk.lazy.closure import add_step_closure, run_step_closures
from thunk.lazy.computation import get_tensor_id
from thunk.lazy.executor import LazyGraphExecutor
from thunk.lazy.step import mark_step, sync_multi, wait_device_ops
from thunk.lazy.transfer import save, to_cpu
from thunk.lazy.watch import (
    ForbiddenError,
    explain,
    fallback_ops,
    forbid_compile,
    forbid_execution,
)

__all__ = [
    "ForbiddenError", "LazyGraphExecutor", "add_step_closure", "closure", "computation", "config",
    "debug", "device_context", "explain", "fallback_ops", "forbid_compile", "forbid_execution",
    "get_tensor_id", "ir_cache", "mark_step", "metrics", "run_step_closures", "save", "sync_multi",
    "to_cpu", "ts_backend", "wait_device_ops",
]  # fmt: skip
