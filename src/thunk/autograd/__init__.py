"""Autograd: recording, nodes, the engine, in-place and view semantics, custom functions.

The names listed in `__all__` are the public `thunk.autograd`.
"""

from thunk.autograd import functional, graph, profiler, variable
from thunk.autograd.anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from thunk.autograd.api import backward, grad
from thunk.autograd.function import Function, once_differentiable
from thunk.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from thunk.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from thunk.autograd.variable import Variable

__all__ = [
    "Function", "GradcheckError", "Variable",
    "backward", "detect_anomaly", "enable_grad", "functional", "grad",
    "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "once_differentiable", "profiler",
    "set_detect_anomaly", "set_grad_enabled", "variable",
]  # fmt: skip
