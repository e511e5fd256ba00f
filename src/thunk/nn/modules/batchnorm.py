"""Batch normalisation: channels normalised over samples and places.

Enters: (sample, channel, places). Leaves: the same. Invariant: running statistics change in
training only, and are used outside it only.
"""

from __future__ import annotations

from typing import Any

from thunk.autograd import no_grad
from thunk.nn import functional as F
from thunk.nn import init
from thunk.nn.modules.module import Module
from thunk.nn.parameter import Parameter
from thunk.ops.registry import t
from thunk.types.dtype import int64

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]


class _NormBase(Module):
    """Scale, shift and running statistics of each channel."""

    # Version 2 of the state dict has `num_batches_tracked`.
    _version = 2

    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        shape = (num_features,)
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            empty = t.empty(shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if empty is None else Parameter(empty))
        if track_running_stats:
            self.register_buffer("running_mean", t.zeros(shape, device=device, dtype=dtype))
            self.register_buffer("running_var", t.ones(shape, device=device, dtype=dtype))
            count = t.zeros((), device=device, dtype=int64)
            self.register_buffer("num_batches_tracked", count)
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batch seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Scale 1, shift 0, fresh statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__}: expected a subclass that defines _check_input_dim, such as "
            "BatchNorm2d"
        )

    def extra_repr(self) -> str:
        """All arguments."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
        strict: bool, missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        version = local_metadata.get("version")
        name = f"{prefix}num_batches_tracked"
        older = version is None or version < 2
        if older and self.track_running_stats and name not in state_dict:
            own = self.num_batches_tracked
            usable = own is not None and own.device.type != "meta"
            state_dict[name] = own if usable else t.zeros((), dtype=int64)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    """Batch normalisation of any number of places."""

    def _share(self) -> float:
        """How much of the running statistics this batch replaces; counts the batch."""
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return 1.0 / float(self.num_batches_tracked)
        return 0.0 if self.momentum is None else self.momentum

    def forward(self, input: Any) -> Any:
        """Normalised by the batch's statistics in training, by the running ones otherwise."""
        self._check_input_dim(input)
        share = self._share()
        own = self.running_mean is None and self.running_var is None
        running = (None, None)
        if not self.training or self.track_running_stats:
            running = (self.running_mean, self.running_var)
        return F.batch_norm(
            input, *running, self.weight, self.bias, self.training or own, share, self.eps
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (sample, channel) or (sample, channel, place)."""

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of pictures."""

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of volumes."""

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation whose statistics are those of all processes; here there is one."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, process_group: Any = None,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with every batch normalisation inside it replaced by this one."""
        found = module
        if isinstance(module, _BatchNorm):
            found = SyncBatchNorm(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group, bias=module.bias is not None,
            )  # fmt: skip
            if module.affine:
                with no_grad():
                    found.weight = module.weight
                    found.bias = module.bias
            found.running_mean = module.running_mean
            found.running_var = module.running_var
            found.num_batches_tracked = module.num_batches_tracked
            found.training = module.training
        for name, child in module.named_children():
            found.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return found
