"""`thunk.utils.data._utils`: what scripts reach for under PyTorch's module paths."""

from thunk.data.failure import ExceptionWrapper
from thunk.data.worker import STATUS_CHECK_SECONDS as MP_STATUS_CHECK_INTERVAL
from thunk.utils.data._utils import collate, fetch, worker

__all__ = ["MP_STATUS_CHECK_INTERVAL", "ExceptionWrapper", "collate", "fetch", "worker"]
