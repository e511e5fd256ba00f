"""Enters: a device type and a dtype. Leaves: a `with` block in which operators choose precision.

Invariant: leaving the block restores what was; without the device nothing changes at all.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

from thunk.amp import policies
from thunk.dispatch.keys import DispatchKey
from thunk.dispatch.state import key_guard, state
from thunk.types.device import DEVICE_TYPES
from thunk.types.dtype import bfloat16, dtype, float16

_CPU_DTYPES = (bfloat16, float16)
_LIVE = ("cpu", "lazy")
_defaults: dict[str, dtype] = {"cuda": float16, "mps": float16, "xpu": float16}


def _check_type(op: str, device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(
            f"{op}: expected `device_type` of type `str`, got `{type(device_type).__name__}`; "
            "pass device.type"
        )
    if device_type not in DEVICE_TYPES:
        raise RuntimeError(f"{op}: expected one of {', '.join(DEVICE_TYPES)}, got {device_type!r}")
    return device_type


def is_autocast_available(device_type: str) -> bool:
    """Whether a type of device knows autocast."""
    return _check_type("is_autocast_available", device_type) != "meta"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a type of device."""
    kind = _check_type("is_autocast_enabled", device_type)
    return kind in _LIVE and DispatchKey.AutocastCPU in state.include


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast for a type of device, or as of old for CUDA."""
    if isinstance(device_type, bool):
        return
    if _check_type("set_autocast_enabled", device_type) in _LIVE:
        _switch(bool(enabled))


def _switch(enabled: bool) -> None:
    if enabled:
        state.include = state.include | policies.AUTOCAST
        state.exclude = state.exclude - policies.AUTOCAST
    else:
        state.include = state.include - policies.AUTOCAST
        state.exclude = state.exclude | policies.AUTOCAST


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype that products are computed in."""
    kind = _check_type("get_autocast_dtype", device_type)
    return state.autocast_dtype if kind in _LIVE else _defaults.get(kind, float16)


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Choose the dtype that products are computed in."""
    kind = _check_type("set_autocast_dtype", device_type)
    if kind in _LIVE:
        state.autocast_dtype = dtype
    else:
        _defaults[kind] = dtype


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on for the CPU."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switch autocast for the CPU."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtype:
    """The dtype of products on the CPU."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """Choose the dtype of products on the CPU."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtype:
    """The dtype of products on CUDA."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """Choose the dtype of products on CUDA."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of weights may be kept; here equal casts are one operation of the trace."""
    return state.autocast_cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Allow casts of weights to be kept."""
    state.autocast_cache = bool(enabled)


def clear_autocast_cache() -> None:
    """Forget kept casts: none are kept beyond the trace."""


class autocast:
    """Compute products in 16 bits inside a `with` block or a decorated function.

    The CPU knows bfloat16 (the default) and float16; for devices that are not here the block
    changes nothing, and says so where PyTorch does.
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = _check_type("autocast", device_type)
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"autocast: expected a device that computes, got User specified an unsupported "
                f"autocast device_type '{device_type}'; use 'cpu'"
            )
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = state.autocast_cache if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled) and self._is_possible()

    def _is_possible(self) -> bool:
        if self.device == "cuda":
            warnings.warn(
                "autocast: CUDA is not available. Disabling autocast.", UserWarning, stacklevel=4
            )
            return False
        if self.device not in _LIVE:
            return False
        if self.fast_dtype not in _CPU_DTYPES:
            warnings.warn(
                "autocast: CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 "
                f"currently, got {self.fast_dtype!r}. Disabling autocast.",
                UserWarning,
                stacklevel=4,
            )
            return False
        return True

    def __enter__(self) -> autocast:
        before = (state.include, state.exclude, state.autocast_dtype, state.autocast_cache)
        self._before: list[Any] = [*getattr(self, "_before", []), before]
        if self.device in _LIVE:
            _switch(self._enabled)
            if self._enabled:
                state.autocast_dtype = self.fast_dtype
            state.autocast_cache = self._cache_enabled
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        state.include, state.exclude, state.autocast_dtype, state.autocast_cache = (
            self._before.pop()
        )

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            return func

        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str = "cuda", cast_inputs: Any = None
) -> Any:
    """Decorate `forward` of a custom Function: remembers whether autocast was on.

    With `cast_inputs`, eligible tensors are converted to that dtype and autocast is off inside.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        enabled = is_autocast_enabled(device_type)
        args[0]._dtype = get_autocast_dtype(device_type)
        args[0]._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(*args, **kwargs)
        with key_guard(exclude=policies.AUTOCAST):
            values = [policies.converted(value, cast_inputs) for value in args]
            named = {name: policies.converted(each, cast_inputs) for name, each in kwargs.items()}
            return fwd(*values, **named)

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str = "cuda") -> Any:
    """Decorate `backward` of a custom Function: autocast is as it was in `forward`."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        used = bool(context._fwd_used_autocast)
        kind = device_type if device_type in _LIVE else "cpu"
        with autocast(kind, enabled=used, dtype=context._dtype if used else None):
            return bwd(*args, **kwargs)

    return backward
