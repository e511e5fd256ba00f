"""Recurrent networks: layers over sequences, padded or packed. Cells have a file of their own.

Enters: sequences and a state, or none for zeros. Leaves: outputs of every step and the final state.
Invariant: parameters have PyTorch's names and order; they are read anew at every call, so replacing
one needs no more than setting the attribute.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import Any

from thunk.dispatch.keys import DispatchKey
from thunk.dispatch.state import state
from thunk.nn import init
from thunk.nn.modules.module import Module
from thunk.nn.modules.rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from thunk.nn.modules.utils import at_home
from thunk.nn.parameter import Parameter
from thunk.nn.utils.rnn import PackedSequence
from thunk.ops.registry import t

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

at_home(__name__, GRUCell, LSTMCell, RNNCell, RNNCellBase)

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
# What older files have, which is made anew here whenever it is asked for.
_DERIVED = ("_flat_weights", "_flat_weights_names", "_flat_weight_refs", "all_weights")


def apply_permutation(tensor: Any, permutation: Any, dim: int = 1) -> Any:
    """The old name of `tensor.index_select(dim, permutation)`."""
    warnings.warn(
        "`apply_permutation` is deprecated, please use "
        "`tensor.index_select(dim, permutation)` instead",
        FutureWarning,
        stacklevel=2,
    )
    return t.index_select(tensor, dim, permutation)


def _check_dropout(dropout: Any, num_layers: int) -> None:
    number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
    if not number or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            "being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )


def _check_types(**given: tuple[Any, type]) -> None:
    for name, (value, wanted) in given.items():
        if not isinstance(value, wanted):
            raise TypeError(
                f"{name} should be of type {wanted.__name__}, got: {type(value).__name__}"
            )


def _check_sizes(
    mode: str, input_size: int, hidden_size: int, num_layers: int, proj_size: int
) -> None:
    for name, size in (
        ("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)
    ):  # fmt: skip
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in _GATES:
        raise ValueError("Unrecognized RNN mode: " + mode)


class RNNBase(Module):
    """What the recurrent networks share: arguments, weights, checks and their way of calling."""

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1,
        bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        _check_dropout(dropout, num_layers)
        _check_types(
            bias=(bias, bool), batch_first=(batch_first, bool), input_size=(input_size, int),
            hidden_size=(hidden_size, int),
        )  # fmt: skip
        _check_sizes(mode, input_size, hidden_size, num_layers, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._directions]:
                self._add_layer(layer, suffix, device, dtype)
        self.reset_parameters()

    def _add_layer(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        """The empty weights of one layer and direction."""
        gates = _GATES[self.mode] * self.hidden_size
        inputs = self._output_size * self._directions if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (gates, inputs),
            "weight_hh": (gates, self._output_size),
        }
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for kind, shape in shapes.items():
            names.append(f"{kind}_l{layer}{suffix}")
            empty = t.empty(shape, device=device, dtype=dtype)
            self.register_parameter(names[-1], Parameter(empty))
        self._all_weights.append(names)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self) -> int:
        return self.proj_size if self.proj_size > 0 else self.hidden_size

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of every layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: weights need no common memory here."""

    def reset_parameters(self) -> None:
        """Draw all weights anew, uniformly within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def __getstate__(self) -> dict[str, Any]:
        """With the lists that PyTorch keeps beside the weights, for files that it can load."""
        state = super().__getstate__()
        names = self._flat_weights_names
        return {**state, "_flat_weights_names": names, "_flat_weights": self._flat_weights}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        kept = {name: value for name, value in saved.items() if name not in _DERIVED}
        super().__setstate__({"proj_size": 0, **kept})

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """Refuse an input of another dtype, rank or size than the weights."""
        element = self._flat_weights[0].dtype
        if input.dtype != element and DispatchKey.AutocastCPU in state.exclude:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({element}). "
                f"Convert input: input.to({element}), or convert model: model.to({input.dtype})"
            )
        wanted = 3 if batch_sizes is None else 2
        if input.dim() != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def _expected(self, input: Any, batch_sizes: Any, size: int) -> tuple[int, int, int]:
        if batch_sizes is not None:
            samples = batch_sizes.tolist()[0]
        else:
            samples = input.size(0 if self.batch_first else 1)
        return self.num_layers * self._directions, samples, size

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of the hidden state."""
        return self._expected(input, batch_sizes, self._output_size)

    def check_hidden_size(
        self, hx: Any, expected_hidden_size: Sequence[int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:  # fmt: skip
        """Refuse a state of another shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Refuse inputs and states that do not fit the weights or each other."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The state with its samples in another order."""
        return hx if permutation is None else t.index_select(hx, 1, permutation)

    def _states(self, hx: Any) -> tuple[Any, ...]:
        """The state as a tuple of tensors."""
        return (hx,)

    def _whole(self, states: Sequence[Any]) -> Any:
        """The state as users see it."""
        return states[0]

    def _zeros(self, input: Any, batch_sizes: Any) -> Any:
        shape = self.get_expected_hidden_size(input, batch_sizes)
        return t.zeros(shape, dtype=input.dtype, device=input.device)

    def _run(self, *given: Any) -> Any:
        """The operator of this kind of network."""
        return getattr(t, self.mode.lower())(*given)

    def _settings(self) -> tuple[Any, ...]:
        return (
            self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional,
        )  # fmt: skip

    def _check_ranks(self, hx: Any, batched: bool) -> None:
        count, kind = (3, "batched") if batched else (2, "unbatched")
        if hx.dim() != count:
            raise RuntimeError(
                f"For {kind} {count}-D input, hx should also be {count}-D but got {hx.dim()}-D "
                "tensor"
            )

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The outputs of the last layer and the final state of every layer and direction."""
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D "
                f"{'tensor ' if self.mode.startswith('RNN') else ''}instead"
            )
        batched = input.dim() == 3
        place = 0 if self.batch_first else 1
        if hx is not None:
            self._check_ranks(hx, batched)
        if not batched:
            input = input.unsqueeze(place)
            hx = None if hx is None else self._whole([x.unsqueeze(1) for x in self._states(hx)])
        if hx is None:
            hx = self._zeros(input, None)
        self.check_forward_args(input, hx, None)
        output, *states = self._run(input, hx, *self._settings(), self.batch_first)
        if not batched:
            output, states = output.squeeze(place), [each.squeeze(1) for each in states]
        return output, self._whole(states)

    def _packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, sizes, order, back = packed
        hx = self._zeros(data, sizes) if hx is None else self.permute_hidden(hx, order)
        self.check_forward_args(data, hx, sizes)
        output, *states = self._run(data, sizes, hx, *self._settings())
        found = PackedSequence(output, sizes, order, back)
        return found, self.permute_hidden(self._whole(states), back)

    def extra_repr(self) -> str:
        """The arguments that are not at their defaults."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
            ("dropout", 0), ("bidirectional", False),
        )  # fmt: skip
        for name, value in usual:
            if getattr(self, name) != value:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


class RNN(RNNBase):
    """A network whose state is the tanh or relu of its projections."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


def _refuse_projection(arguments: dict[str, Any]) -> None:
    if "proj_size" in arguments:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class LSTM(RNNBase):
    """Long short-term memory: the state is a pair of hidden state and cell."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of the cells."""
        return self._expected(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Refuse inputs and states that do not fit the weights or each other."""
        self.check_input(input, batch_sizes)
        shapes = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for number, (given, shape) in enumerate(zip(hidden, shapes)):
            self.check_hidden_size(given, shape, f"Expected hidden[{number}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The state with its samples in another order."""
        if permutation is None:
            return hx
        return tuple(t.index_select(each, 1, permutation) for each in hx)

    def _check_ranks(self, hx: Any, batched: bool) -> None:
        count, kind = (3, "batched") if batched else (2, "unbatched")
        if any(each.dim() != count for each in hx):
            raise RuntimeError(
                f"For {kind} {count}-D input, hx and cx should also be {count}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def _states(self, hx: Any) -> tuple[Any, ...]:
        return tuple(hx)

    def _whole(self, states: Sequence[Any]) -> Any:
        return tuple(states)

    def _zeros(self, input: Any, batch_sizes: Any) -> Any:
        shape = self.get_expected_cell_size(input, batch_sizes)
        cell = t.zeros(shape, dtype=input.dtype, device=input.device)
        return super()._zeros(input, batch_sizes), cell
