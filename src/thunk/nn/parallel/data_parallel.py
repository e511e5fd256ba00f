"""Enters: a module. Leaves: the module on several devices, of which there is one.

Invariant: as in PyTorch without devices, the module itself is called; names begin `module.`.
"""

from __future__ import annotations

from typing import Any

from thunk.nn.modules.module import Module


class DataParallel(Module):
    """Splits batches among devices; without any, the module gets the batch."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """What the module computes on `inputs`."""
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*arguments, **(module_kwargs or {}))
