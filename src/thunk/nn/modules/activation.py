"""Activations as modules; attention with several heads lives under this name too, as in PyTorch.

Enters: any tensor. Leaves: one of the same shape (gated units: half of one dimension).
Invariant: with `inplace=True` the input itself is changed and returned.
"""

from __future__ import annotations

import warnings
from typing import Any

from thunk.nn import functional as F
from thunk.nn import init as initialise
from thunk.nn.modules.attention import MultiheadAttention
from thunk.nn.modules.module import Module
from thunk.nn.modules.softmax import LogSoftmax, Softmax, Softmax2d, Softmin
from thunk.nn.modules.utils import at_home
from thunk.nn.parameter import Parameter
from thunk.ops.registry import t

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU",
    "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip

at_home(__name__, LogSoftmax, MultiheadAttention, Softmax, Softmax2d, Softmin)


class _InPlace(Module):
    """An activation whose only argument is whether it changes its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """`inplace=True`, or nothing."""
        return "inplace=True" if self.inplace else ""

    def _also_inplace(self, text: str) -> str:
        """`text` of the other arguments, and `inplace=True` if it is set."""
        return f"{text}, inplace=True" if self.inplace else text


class ReLU(_InPlace):
    """`max(x, 0)`."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.relu(input, inplace=self.inplace)


class SiLU(_InPlace):
    """`x * sigmoid(x)`."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """`x * tanh(softplus(x))`."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.mish(input, inplace=self.inplace)


class SELU(_InPlace):
    """elu with the two constants that keep mean and variance."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.selu(input, self.inplace)


class Hardsigmoid(_InPlace):
    """`(x + 3) / 6`, held between 0 and 1."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardswish(_InPlace):
    """`x * hardsigmoid(x)`."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Threshold(_InPlace):
    """`x` where it is above a threshold, else `value`."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """All arguments."""
        return self._also_inplace(f"threshold={self.threshold}, value={self.value}")


class RReLU(_InPlace):
    """leaky_relu whose slope is drawn for each element in training."""

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """All arguments."""
        return self._also_inplace(f"lower={self.lower}, upper={self.upper}")


class Hardtanh(_InPlace):
    """`x` held between two numbers."""

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
        min_value: float | None = None, max_value: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(inplace)
        for old, new, value in (
            ("min_value", "min_val", min_value), ("max_value", "max_val", max_value)
        ):  # fmt: skip
            if value is not None:
                warnings.warn(
                    f"keyword argument `{old}` is deprecated and renamed to `{new}`",
                    FutureWarning,
                    stacklevel=2,
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """All arguments."""
        return self._also_inplace(f"min_val={self.min_val}, max_val={self.max_val}")


class ReLU6(Hardtanh):
    """`x` held between 0 and 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """`inplace=True`, or nothing."""
        return "inplace=True" if self.inplace else ""


class ELU(_InPlace):
    """`x` above zero, `alpha * expm1(x)` below."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """All arguments."""
        return self._also_inplace(f"alpha={self.alpha}")


class CELU(_InPlace):
    """`x` above zero, `alpha * expm1(x / alpha)` below."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """All arguments."""
        return self._also_inplace(f"alpha={self.alpha}")


class LeakyReLU(_InPlace):
    """`x` above zero, a fraction of it below."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """All arguments."""
        return self._also_inplace(f"negative_slope={self.negative_slope}")


class PReLU(Module):
    """leaky_relu whose slope is learned, one for all channels or one each."""

    weight: Any

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(t.empty((num_parameters,), device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Every slope as it was in the beginning."""
        initialise.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many slopes there are."""
        return f"num_parameters={self.num_parameters}"


class Sigmoid(Module):
    """`1 / (1 + exp(-x))`."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return t.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return t.tanh(input)


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.logsigmoid(input)


class Softsign(Module):
    """`x / (1 + |x|)`."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.softsign(input)


class Tanhshrink(Module):
    """`x - tanh(x)`."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.tanhshrink(input)


class GLU(Module):
    """The first half of a dimension times the sigmoid of the second."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        """The gated half."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """All arguments."""
        return f"dim={self.dim}"


class GELU(Module):
    """`x` times the probability that a normal variable is below it."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """All arguments."""
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """`log(1 + exp(beta * x)) / beta`, linear above a threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """All arguments."""
        return f"beta={self.beta}, threshold={self.threshold}"


class _Shrink(Module):
    """The width of the interval that becomes zero."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """All arguments."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """`x`, and zero where it is small."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """`x` moved towards zero, and zero where it is small."""

    def forward(self, input: Any) -> Any:
        """The activation of every element."""
        return F.softshrink(input, self.lambd)
