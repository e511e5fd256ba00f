"""Enters: output sizes. Leaves: linear layers that take their input sizes from the first input.

Invariant: nothing is drawn before the first call; then parameters are drawn as an eager layer does.
"""

from __future__ import annotations

from typing import Any

from thunk.dispatch.state import no_grad_recording
from thunk.nn.modules.lazy import LazyModuleMixin
from thunk.nn.modules.linear import Bilinear, Linear
from thunk.nn.parameter import UninitializedParameter


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` whose `in_features` is the last size of its first input."""

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters once they have shapes."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Any) -> None:
        """Take the last size of `input`."""
        if self.has_uninitialized_params():
            with no_grad_recording():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()

    def sizes_from_parameters(self) -> bool:
        """Take both sizes of the weight."""
        self.out_features, self.in_features = self.weight.shape
        return True


class LazyBilinear(LazyModuleMixin, Bilinear):
    """A `Bilinear` whose input sizes are the last sizes of its first inputs."""

    cls_to_become = Bilinear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, out_features, False, device=device, dtype=dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters once they have shapes."""
        if not self.has_uninitialized_params() and self.in1_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input1: Any, input2: Any) -> None:
        """Take the last sizes of both inputs."""
        if self.has_uninitialized_params():
            with no_grad_recording():
                self.in1_features = input1.shape[-1]
                self.in2_features = input2.shape[-1]
                shape = (self.out_features, self.in1_features, self.in2_features)
                self.weight.materialize(shape)
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()

    def sizes_from_parameters(self) -> bool:
        """Take the sizes of the weight."""
        self.out_features, self.in1_features, self.in2_features = self.weight.shape
        return True
