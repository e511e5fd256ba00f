"""Activations under the names and signatures of `torch.nn.functional`.

`inplace=True` writes into the input; everything else is the operator of the same name.
"""

from __future__ import annotations

from typing import Any

from thunk.ops.registry import t
from thunk.tensor.public import functions

__all__ = [
    "celu", "celu_", "elu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "leaky_relu", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_",
    "selu", "selu_", "sigmoid", "silu", "softsign", "tanh", "tanhshrink", "threshold",
    "threshold_",
]  # fmt: skip

_GENERAL, _OWN = functions(), functions("nn")

# The same functions as at the top level, or of another name.
celu_, relu_, rrelu_ = _GENERAL["celu_"], _GENERAL["relu_"], _GENERAL["rrelu_"]
selu_, threshold_ = _GENERAL["selu_"], _GENERAL["threshold_"]
hardshrink, prelu = _GENERAL["hardshrink"], _GENERAL["prelu"]
logsigmoid = _OWN["log_sigmoid"]


def relu(input: Any, inplace: bool = False) -> Any:
    """`max(input, 0)`."""
    return t.relu_(input) if inplace else t.relu(input)


def relu6(input: Any, inplace: bool = False) -> Any:
    """`input` held between 0 and 6."""
    return t.relu6_(input) if inplace else t.relu6(input)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """`input` above zero, a fraction of it below."""
    return (t.leaky_relu_ if inplace else t.leaky_relu)(input, negative_slope)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """`input` above zero, `alpha * expm1(input)` below."""
    return (t.elu_ if inplace else t.elu)(input, alpha)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """`input` above zero, `alpha * expm1(input / alpha)` below."""
    return (t.celu_ if inplace else t.celu)(input, alpha)


def selu(input: Any, inplace: bool = False) -> Any:
    """elu with the two constants that keep mean and variance."""
    return t.selu_(input) if inplace else t.selu(input)


def silu(input: Any, inplace: bool = False) -> Any:
    """`input * sigmoid(input)`."""
    return t.silu_(input) if inplace else t.silu(input)


def mish(input: Any, inplace: bool = False) -> Any:
    """`input * tanh(softplus(input))`."""
    return t.mish_(input) if inplace else t.mish(input)


def hardtanh(
    input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Any:
    """`input` held between two numbers."""
    return (t.hardtanh_ if inplace else t.hardtanh)(input, min_val, max_val)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """`(input + 3) / 6`, held between 0 and 1."""
    return t.hardsigmoid_(input) if inplace else t.hardsigmoid(input)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """`input * hardsigmoid(input)`."""
    return t.hardswish_(input) if inplace else t.hardswish(input)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """`input` where it is above `threshold`, else `value`."""
    return (t.threshold_ if inplace else t.threshold)(input, threshold, value)


def rrelu(
    input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
    inplace: bool = False,
) -> Any:  # fmt: skip
    """leaky_relu with a slope drawn for each element in training, their mean otherwise."""
    return (t.rrelu_ if inplace else t.rrelu)(input, lower, upper, training)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half along `dim` times the sigmoid of the second."""
    return t.glu(input, dim)


def tanhshrink(input: Any) -> Any:
    """`input - tanh(input)`."""
    return input - t.tanh(input)


def softsign(input: Any) -> Any:
    """`input / (1 + |input|)`."""
    return input / (t.abs(input) + 1)


def tanh(input: Any) -> Any:
    """Hyperbolic tangent."""
    return t.tanh(input)


def sigmoid(input: Any) -> Any:
    """`1 / (1 + exp(-input))`."""
    return t.sigmoid(input)
