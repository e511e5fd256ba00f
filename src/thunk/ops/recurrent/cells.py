"""Recurrent cells: one step of one layer, as operators.

Enters: a batch of inputs, the state, weights. Leaves: the next state. Invariant: a cell computes
what one step of a layer of its kind computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thunk.base.errors import Mismatch
from thunk.ops.declare import composite
from thunk.ops.recurrent.steps import (
    GRU,
    LSTM,
    RNN_RELU,
    RNN_TANH,
    Kind,
    State,
    Weights,
    projected,
)

_WEIGHTS = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"


def _check(kind: Kind, input: Any, state: Sequence[Any], weights: Weights) -> None:
    hidden = state[0]
    for name, each in (("input", input), ("hidden0", hidden)):
        if len(each._spec.shape) != 2:
            raise Mismatch(f"expected {name} of 2 dimensions, got {list(each._spec.shape)}")
    samples, features = input._spec.shape
    if features != weights.to_input._spec.shape[-1]:
        raise Mismatch(
            f"input has inconsistent input_size: got {features} expected "
            f"{weights.to_input._spec.shape[-1]}"
        )
    size = weights.to_hidden._spec.shape[-1]
    for number, each in enumerate(state):
        if each._spec.shape[0] != samples:
            raise Mismatch(
                f"Input batch size {samples} doesn't match hidden{number} batch size "
                f"{each._spec.shape[0]}"
            )
        if each._spec.shape[-1] != size:
            raise Mismatch(
                f"hidden{number} has inconsistent hidden_size: got {each._spec.shape[-1]}, "
                f"expected {size}"
            )
    for name, weight in (("weight_ih", weights.to_input), ("weight_hh", weights.to_hidden)):
        if weight._spec.shape[0] != kind.gates * size:
            raise Mismatch(
                f"{name} first dim must be {kind.gates} * hidden_size = {kind.gates * size}, "
                f"but got {weight._spec.shape[0]}"
            )


def _run(kind: Kind, input: Any, state: Sequence[Any], *weights: Any) -> State:
    given = Weights(*weights)
    _check(kind, input, state, given)
    gates, recurrence = projected(kind, input, given)
    return kind.step(gates, tuple(state), recurrence)


@composite(f"rnn_tanh_cell(Tensor input, Tensor hx, {_WEIGHTS}) -> Tensor", variants="function")
def rnn_tanh_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Any:
    """One step of a network whose state is the tanh of its projections."""
    return _run(RNN_TANH, input, [hx], w_ih, w_hh, b_ih, b_hh)[0]


@composite(f"rnn_relu_cell(Tensor input, Tensor hx, {_WEIGHTS}) -> Tensor", variants="function")
def rnn_relu_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Any:
    """One step of a network whose state is the relu of its projections."""
    return _run(RNN_RELU, input, [hx], w_ih, w_hh, b_ih, b_hh)[0]


@composite(f"gru_cell(Tensor input, Tensor hx, {_WEIGHTS}) -> Tensor", variants="function")
def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of gated recurrent units."""
    return _run(GRU, input, [hx], w_ih, w_hh, b_ih, b_hh)[0]


@composite(
    f"lstm_cell(Tensor input, Tensor[] hx, {_WEIGHTS}) -> (Tensor, Tensor)", variants="function"
)
def lstm_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Any:
    """One step of long short-term memory: the next hidden and cell state."""
    if len(hx) != 2:
        raise Mismatch(f"lstm_cell expects two hidden states, got {len(hx)}")
    return _run(LSTM, input, hx, w_ih, w_hh, b_ih, b_hh)
