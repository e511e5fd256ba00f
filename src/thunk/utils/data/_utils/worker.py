"""`thunk.utils.data._utils.worker`: worker processes under PyTorch's module path."""

from typing import Any

from thunk.data.worker import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]


def __getattr__(name: str) -> Any:
    if name == "_worker_info":
        return get_worker_info()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
