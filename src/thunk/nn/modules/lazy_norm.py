"""Enters: options of a batch or instance norm. Leaves: a norm that counts its input's channels.

Invariant: scale, shift and running statistics have no shape before the first call.
"""

from __future__ import annotations

from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.lazy.eager import eager
from thunk.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, _NormBase
from thunk.nn.modules.instancenorm import (
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _InstanceNorm,
)
from thunk.nn.modules.lazy import LazyModuleMixin
from thunk.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from thunk.ops.registry import t
from thunk.types.dtype import int64

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyInstanceNorm1d",
    "LazyInstanceNorm2d", "LazyInstanceNorm3d",
]  # fmt: skip


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """What waits for the number of channels."""

    def _await_input(
        self, affine: bool, bias: bool, track_running_stats: bool, device: Any, dtype: Any
    ) -> None:
        """Replace the tensors of a norm without channels."""
        options = {"device": device, "dtype": dtype}
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(**options)
            if bias:
                self.bias = UninitializedParameter(**options)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**options)
            self.running_var = UninitializedBuffer(**options)
            with eager():  # so that setting it back on the first call computes nothing else
                self.num_batches_tracked = t.zeros((), dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Set the tensors to their first values once they have shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Any) -> None:
        """Count the channels of `input`."""
        if self.num_features == 0:
            self.num_features = self._count_channels(input)
        waiting = [self.weight, self.bias, self.running_mean, self.running_var]
        if any(is_lazy(each) for each in waiting):
            with no_grad_recording():
                for each in waiting:
                    if is_lazy(each):
                        each.materialize((self.num_features,))
                self.reset_parameters()

    def _count_channels(self, input: Any) -> int:
        self._check_input_dim(input)
        channels: int = input.shape[1]
        return channels

    def sizes_from_parameters(self) -> bool:
        """Take the number of channels of any tensor there is."""
        for each in (self.weight, self.running_mean):
            if each is not None:
                self.num_features = each.shape[0]
                return True
        return False


class _LazyBatchNorm(_LazyNormBase):
    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype, bias=False)
        self._await_input(affine, bias, track_running_stats, device, dtype)


class _LazyInstanceNorm(_LazyNormBase, _InstanceNorm):
    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype, bias=False)
        self._await_input(affine, bias, track_running_stats, device, dtype)

    def _count_channels(self, input: Any) -> int:
        """An input without a batch starts with its channels."""
        self._check_input_dim(input)
        channels: int = input.shape[input.dim() - self._get_no_batch_dim()]
        return channels


class LazyBatchNorm1d(_LazyBatchNorm, BatchNorm1d):
    """A `BatchNorm1d` whose `num_features` are the channels of its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyBatchNorm, BatchNorm2d):
    """A `BatchNorm2d` whose `num_features` are the channels of its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyBatchNorm, BatchNorm3d):
    """A `BatchNorm3d` whose `num_features` are the channels of its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """An `InstanceNorm1d` whose `num_features` are the channels of its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """An `InstanceNorm2d` whose `num_features` are the channels of its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """An `InstanceNorm3d` whose `num_features` are the channels of its first input."""

    cls_to_become = InstanceNorm3d
