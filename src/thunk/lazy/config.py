"""Enters: switches as PyTorch's lazy tensors know them. Leaves: the options that stand for them.

Invariant: every switch has one home, an option of `thunk.base.config`; nothing is stored here.
"""

from __future__ import annotations

from typing import Any, Final

from thunk.base.config import config

# PyTorch's flag or environment variable, and the option that does the same here.
EQUIVALENTS: Final = {
    "torch_lazy_compilation_cache_size": "lazy_compilation_cache_size",
    "torch_lazy_device_data_cache_size": "lazy_device_data_cache_size",
    "torch_lazy_enable_device_data_cache": "lazy_enable_device_data_cache",
    "torch_lazy_metrics_percentiles": "lazy_metrics_percentiles",
    "torch_lazy_metrics_samples": "lazy_metrics_samples",
    "torch_lazy_reuse_ir": "lazy_reuse_ir",
    "torch_lazy_use_thread_pool": "asynchronous",
    "LTC_FORCE_FALLBACK": "lazy_force_fallback",
    "LTC_MAX_ASYNC_QUEUE": "lazy_max_async_queue",
    "LTC_SAVE_TENSORS_FILE": "lazy_save_graphs_file",
    "LTC_SAVE_TENSORS_FMT": "lazy_save_graphs_format",
}
_PREFIX: Final = "FLAGS_"


def get_force_fallback() -> str:
    """The operators that run by reference rules, as they were set."""
    return config.lazy_force_fallback


def set_force_fallback(configval: str) -> None:
    """Run these operators by reference rules: "aten::sub", several with commas, none with ""."""
    config.lazy_force_fallback = configval


def get_reuse_ir() -> bool:
    """Whether a trace follows the path of an earlier one."""
    return config.lazy_reuse_ir


def set_reuse_ir(val: bool) -> None:
    """Follow the paths of earlier traces, or record every trace anew."""
    config.lazy_reuse_ir = val


def _option(name: str) -> str:
    found = EQUIVALENTS.get(name.removeprefix(_PREFIX))
    if found is None:
        raise KeyError(
            f"config: expected a switch that has an equivalent, got {name!r}; there are "
            f"{', '.join(sorted(EQUIVALENTS))}"
        )
    return found


def get_flag(name: str) -> Any:
    """The value of the option behind a flag, with or without FLAGS_ before its name."""
    return getattr(config, _option(name))


def set_flag(name: str, value: Any) -> None:
    """Set the option behind a flag."""
    setattr(config, _option(name), value)
