"""Enters: a module. Leaves: the module trained by several processes, of which there is one.

Invariant: parameters and gradients are the module's own; names in a state dict begin `module.`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from thunk.nn.modules.module import Module
from thunk.nn.parameter import UninitializedParameter


class DistributedDataParallel(Module):
    """Averages gradients over the processes of a group; over one, they are what they are."""

    def __init__(
        self,
        module: Module,
        device_ids: list[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        **_: Any,
    ) -> None:
        super().__init__()
        parameters = list(module.parameters())
        if not any(each.requires_grad for each in parameters):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters "
                "that require a gradient."
            )
        if any(isinstance(each, UninitializedParameter) for each in parameters):
            raise RuntimeError(
                "DistributedDataParallel: expected initialized parameters, got Modules with "
                "uninitialized parameters can't be used with `DistributedDataParallel`. Run a "
                "dummy forward pass to correctly initialize the modules"
            )
        self.module = module
        self.device_ids = device_ids
        self.output_device = output_device
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers
        self.process_group = process_group
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients without exchanging them inside a `with` block."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(self, *args: Any, **kwargs: Any) -> Iterator[None]:
        """Train on inputs of different lengths in different processes."""
        yield

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        """Choose how gradients are exchanged; between one process none are."""
