"""One step of each kind of recurrent network, with the input's projection already made.

Enters: a step's projected input of (sample, gates), the state, weights. Leaves: the next state,
whose first element is the output. Invariant: a step costs one matrix product and a few pointwise
operators (one product more where a projection shrinks the output).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from thunk.ops.registry import t

State = tuple[Any, ...]


class Weights(NamedTuple):
    """What a layer of one direction learns."""

    to_input: Any
    to_hidden: Any
    input_bias: Any = None
    hidden_bias: Any = None
    to_output: Any = None


class Recurrence(NamedTuple):
    """The weights as the steps use them: transposed once for all of them."""

    matrix: Any
    shift: Any
    projection: Any


class Kind(NamedTuple):
    """A kind of recurrent network: its gates a hidden unit, and its step."""

    gates: int
    step: Callable[[Any, State, Recurrence], State]
    joins_biases: bool = True


def projected(kind: Kind, data: Any, weights: Weights) -> tuple[Any, Recurrence]:
    """The projection of the inputs of all steps, and what is left for each step to do.

    Where the gates only ever see the sum of both biases, it is added here, once.
    """
    bias, shift = weights.input_bias, weights.hidden_bias
    if kind.joins_biases and bias is not None and shift is not None:
        bias, shift = bias + shift, None
    matrix = t.t(weights.to_hidden)
    output = None if weights.to_output is None else t.t(weights.to_output)
    return t.linear(data, weights.to_input, bias), Recurrence(matrix, shift, output)


def _elman(activation: str) -> Callable[[Any, State, Recurrence], State]:
    def step(given: Any, state: State, recurrence: Recurrence) -> State:
        gate = t.addmm(_shifted(given, recurrence), state[0], recurrence.matrix)
        return (getattr(t, activation)(gate),)

    return step


def _shifted(given: Any, recurrence: Recurrence) -> Any:
    """The projection with the bias of the hidden state, if that is not in it yet."""
    return given if recurrence.shift is None else given + recurrence.shift


def _lstm(given: Any, state: State, recurrence: Recurrence) -> State:
    hidden, cell = state
    gates = t.addmm(_shifted(given, recurrence), hidden, recurrence.matrix)
    enter, keep, new, leave = t.chunk(gates, 4, 1)
    cell = t.sigmoid(keep) * cell + t.sigmoid(enter) * t.tanh(new)
    hidden = t.sigmoid(leave) * t.tanh(cell)
    if recurrence.projection is not None:
        hidden = t.mm(hidden, recurrence.projection)
    return hidden, cell


def _gru(given: Any, state: State, recurrence: Recurrence) -> State:
    (hidden,) = state
    if recurrence.shift is None:
        moved = t.mm(hidden, recurrence.matrix)
    else:
        moved = t.addmm(recurrence.shift, hidden, recurrence.matrix)
    size = hidden._spec.shape[1]
    gates, new = t.split_with_sizes(given, (2 * size, size), 1)
    moved_gates, moved_new = t.split_with_sizes(moved, (2 * size, size), 1)
    reset, update = t.chunk(t.sigmoid(gates + moved_gates), 2, 1)
    new = t.tanh(new + reset * moved_new)
    return (new + update * (hidden - new),)


RNN_TANH = Kind(1, _elman("tanh"))
RNN_RELU = Kind(1, _elman("relu"))
LSTM = Kind(4, _lstm)
# The reset gate scales the hidden state's share of the new state, its bias included.
GRU = Kind(3, _gru, joins_biases=False)
