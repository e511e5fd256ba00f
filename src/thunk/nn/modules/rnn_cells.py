"""Recurrent cells: one step of one layer as a module; `rnn` is where users find them.

Enters: a batch of inputs, or one, and a state, or none for zeros. Leaves: the next state.
Invariant: parameters have PyTorch's names and order.
"""

from __future__ import annotations

import math
from typing import Any

from thunk.nn import init
from thunk.nn.modules.module import Module
from thunk.nn.parameter import Parameter
from thunk.ops.registry import t

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """What the cells share: sizes and weights."""

    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (gates, input_size),
            "weight_hh": (gates, hidden_size),
            "bias_ih": (gates,),
            "bias_hh": (gates,),
        }
        for name, shape in shapes.items():
            if len(shape) == 1 and not bias:
                self.register_parameter(name, None)
            else:
                empty = t.empty(shape, device=device, dtype=dtype)
                self.register_parameter(name, Parameter(empty))
        self.reset_parameters()

    def extra_repr(self) -> str:
        """The arguments that are not at their defaults."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        kind = self.__dict__.get("nonlinearity", "tanh")
        if kind != "tanh":
            parts.append(f"nonlinearity={kind}")
        return ", ".join(parts)

    def reset_parameters(self) -> None:
        """Draw all weights anew, uniformly within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check_rank(self, what: str, given: Any) -> None:
        if given.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {given.dim()}D instead"
            )

    def _zeros(self, input: Any) -> Any:
        shape = (input.size(0), self.hidden_size)
        return t.zeros(shape, dtype=input.dtype, device=input.device)

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _step(self, cell: Any, input: Any, hx: Any) -> Any:
        """One step of a cell whose state is one tensor; a single sample becomes a batch."""
        self._check_rank("input", input)
        if hx is not None:
            self._check_rank("hidden", hx)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else hx.unsqueeze(0)
        state = cell(input, self._zeros(input) if hx is None else hx, *self._weights())
        return state if batched else state.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of a network whose state is the tanh or relu of its projections."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden state."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(getattr(t, f"rnn_{self.nonlinearity}_cell"), input, hx)


class GRUCell(RNNCellBase):
    """One step of gated recurrent units."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden state."""
        return self._step(t.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The next hidden state and cell."""
        self._check_rank("input", input)
        for number, each in enumerate(hx or ()):
            self._check_rank(f"hx[{number}]", each)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else [each.unsqueeze(0) for each in hx]
        if hx is None:
            hx = [self._zeros(input)] * 2
        hidden, cell = t.lstm_cell(input, list(hx), *self._weights())
        return (hidden, cell) if batched else (hidden.squeeze(0), cell.squeeze(0))
