"""Enters: options of a layer or group norm. Leaves: a norm that takes its sizes from its input.

Invariant: scale and shift have no shape before the first call. PyTorch has no such classes; they
follow the same rules as those it has.
"""

from __future__ import annotations

from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.nn.modules.lazy import LazyModuleMixin
from thunk.nn.modules.normalization import GroupNorm, LayerNorm
from thunk.nn.parameter import UninitializedParameter, is_lazy

__all__ = ["LazyGroupNorm", "LazyLayerNorm"]


class _LazyAffine(LazyModuleMixin):
    """What waits for the shape of scale and shift."""

    weight: Any
    bias: Any

    def _await_input(self, scale: bool, shift: bool, device: Any, dtype: Any) -> None:
        """Replace the tensors of a norm without sizes."""
        if scale:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if shift:
                self.bias = UninitializedParameter(device=device, dtype=dtype)

    def _materialize(self, shape: tuple[int, ...]) -> None:
        module: Any = self
        with no_grad_recording():
            for each in (self.weight, self.bias):
                if is_lazy(each):
                    each.materialize(shape)
            module.reset_parameters()


class LazyLayerNorm(_LazyAffine, LayerNorm):
    """A `LayerNorm` over the last `normalized_dims` dimensions of its first input."""

    cls_to_become = LayerNorm

    def __init__(
        self, normalized_dims: int = 1, eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if normalized_dims < 1:
            raise ValueError(
                f"LazyLayerNorm: expected normalized_dims of at least 1, got {normalized_dims}"
            )
        super().__init__((0,) * normalized_dims, eps, False, False)
        self.elementwise_affine = elementwise_affine
        self._await_input(elementwise_affine, bias, device, dtype)

    def initialize_parameters(self, input: Any) -> None:
        """Take the last sizes of `input`."""
        count = len(self.normalized_shape)
        if input.dim() < count:
            raise RuntimeError(
                f"LazyLayerNorm: expected an input of at least {count} dimensions, got "
                f"{input.dim()}; use a smaller normalized_dims"
            )
        if 0 in self.normalized_shape:
            self.normalized_shape = tuple(input.shape[-count:])
        if self.has_uninitialized_params():
            self._materialize(self.normalized_shape)

    def sizes_from_parameters(self) -> bool:
        """Take the shape of the scale."""
        if self.weight is None:
            return False
        self.normalized_shape = tuple(self.weight.shape)
        return True


class LazyGroupNorm(_LazyAffine, GroupNorm):
    """A `GroupNorm` whose `num_channels` are the second size of its first input."""

    cls_to_become = GroupNorm

    def __init__(
        self, num_groups: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_groups, 0, eps, False, bias=False)
        self.affine = affine
        self._await_input(affine, bias, device, dtype)

    def initialize_parameters(self, input: Any) -> None:
        """Count the channels of `input`."""
        if input.dim() < 2:
            raise RuntimeError(
                f"LazyGroupNorm: expected an input of at least 2 dimensions, got {input.dim()}"
            )
        if self.num_channels == 0:
            channels = input.shape[1]
            if channels % self.num_groups != 0:
                raise ValueError(
                    f"num_channels ({channels}) must be divisible by num_groups "
                    f"({self.num_groups})"
                )
            self.num_channels = channels
        if self.has_uninitialized_params():
            self._materialize((self.num_channels,))

    def sizes_from_parameters(self) -> bool:
        """Take the size of the scale."""
        if self.weight is None:
            return False
        self.num_channels = self.weight.shape[0]
        return True
