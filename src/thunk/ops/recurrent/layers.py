"""Recurrent networks of several layers, over padded or packed sequences.

Enters: sequences of (time, sample, features), or packed ones with the batch size of each step.
Leaves: the last layer's outputs and the final state of every layer and direction.
Invariant: a layer costs one matrix product for the inputs of all steps, and `steps.py`'s per step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from thunk.base.errors import Mismatch
from thunk.ops.declare import declare
from thunk.ops.recurrent.steps import (
    GRU,
    LSTM,
    RNN_RELU,
    RNN_TANH,
    Kind,
    Recurrence,
    State,
    Weights,
    projected,
)
from thunk.ops.registry import t


class Settings(NamedTuple):
    """How a network is built, whatever its kind."""

    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool


def _grown(state: State, initial: State, size: int) -> State:
    """The state of a reversed pass, with the sequences that begin at this step."""
    have = state[0]._spec.shape[0]
    if size == have:
        return state
    more = [t.narrow(each, 0, have, size - have) for each in initial]
    return tuple(t.cat([old, new]) for old, new in zip(state, more))


def _backwards(
    kind: Kind, steps: Any, sizes: Sequence[int], initial: State, recurrence: Recurrence
) -> tuple[list[Any], State]:
    """Outputs in the order of time and the final state of a pass from the last step."""
    state = tuple(t.narrow(each, 0, 0, sizes[-1]) for each in initial)
    outputs = []
    for step, size in zip(reversed(steps), reversed(sizes)):
        state = kind.step(step, _grown(state, initial, size), recurrence)
        outputs.append(state[0])
    return outputs[::-1], state


def _forwards(
    kind: Kind, steps: Any, sizes: Sequence[int], initial: State, recurrence: Recurrence
) -> tuple[list[Any], State]:
    """Outputs and the final state of a pass from the first step; sequences may end on the way."""
    state, outputs, ended = initial, [], []
    for step, size in zip(steps, sizes):
        have = state[0]._spec.shape[0]
        if size < have:
            ended.append([t.narrow(each, 0, size, have - size) for each in state])
            state = tuple(t.narrow(each, 0, 0, size) for each in state)
        state = kind.step(step, state, recurrence)
        outputs.append(state[0])
    if ended:
        pieces = zip(state, *reversed(ended))
        state = tuple(t.cat(list(each)) for each in pieces)
    return outputs, state


def _directions(
    kind: Kind, data: Any, sizes: Sequence[int] | None, states: list[State], weights: list[Weights]
) -> tuple[Any, list[State]]:
    """The outputs of one layer, those of both directions side by side, and its final states."""
    found, finals = [], []
    for each, initial, run in zip(weights, states, (_forwards, _backwards)):
        gates, recurrence = projected(kind, data, each)
        if sizes is None:
            steps = t.unbind(gates, 0)
            counts: Sequence[int] = [gates._spec.shape[1]] * len(steps)
        else:
            steps, counts = t.split_with_sizes(gates, sizes, 0), sizes
        outputs, final = run(kind, steps, counts, initial, recurrence)
        joined = t.cat(outputs, 0)
        if sizes is None:
            # One view of all steps, where a stack would take one of each.
            joined = t.reshape(joined, (len(outputs), *outputs[0]._spec.shape))
        found.append(joined)
        finals.append(final)
    return (found[0] if len(found) == 1 else t.cat(found, -1)), finals


def _grouped(params: Sequence[Any], has_biases: bool, projects: bool, count: int) -> list[Weights]:
    """The weights of every layer and direction."""
    names = ["to_input", "to_hidden"]
    names += ["input_bias", "hidden_bias"] * has_biases + ["to_output"] * projects
    width = len(names)
    if len(params) != width * count:
        raise Mismatch(
            f"expected {width * count} params ({width} for each of {count} layers and directions), "
            f"got {len(params)}"
        )
    groups = [params[start : start + width] for start in range(0, len(params), width)]
    return [Weights(**dict(zip(names, group))) for group in groups]


def _network(
    kind: Kind, data: Any, sizes: Sequence[int] | None, hx: Sequence[Any], params: Sequence[Any],
    settings: Settings,
) -> tuple[Any, ...]:  # fmt: skip
    if not data._spec.shape[0]:
        raise Mismatch("Expected sequence length to be larger than 0 in RNN")
    directions = 2 if settings.bidirectional else 1
    count = directions * settings.num_layers
    projects = len(hx) == 2 and hx[0]._spec.shape[2] != hx[1]._spec.shape[2]
    weights = _grouped(params, settings.has_biases, projects, count)
    if any(each._spec.shape[0] != count for each in hx):
        raise Mismatch(
            f"expected hidden states for {count} layers and directions, got "
            f"{[list(each._spec.shape) for each in hx]}"
        )
    states = list(zip(*[t.unbind(each, 0) for each in hx]))
    finals: list[State] = []
    for layer in range(settings.num_layers):
        own = slice(layer * directions, (layer + 1) * directions)
        data, ends = _directions(kind, data, sizes, states[own], weights[own])
        finals += ends
        if settings.dropout and settings.train and layer < settings.num_layers - 1:
            data = t.dropout(data, settings.dropout, True)
    return data, *[t.stack(list(each), 0) for each in zip(*finals)]


def _several(hx: Any, wanted: int, name: str) -> Sequence[Any]:
    states = hx if isinstance(hx, (tuple, list)) else [hx]
    if len(states) != wanted:
        raise Mismatch(f"{name} expects two hidden states, got {len(states)}")
    return states


def _padded(name: str, kind: Kind, states: int) -> Callable[..., Any]:
    def run(
        input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float,
        train: bool, bidirectional: bool, batch_first: bool,
    ) -> Any:  # fmt: skip
        settings = Settings(has_biases, num_layers, dropout, train, bidirectional)
        data = t.transpose(input, 0, 1) if batch_first else input
        output, *finals = _network(kind, data, None, _several(hx, states, name), params, settings)
        return t.transpose(output, 0, 1) if batch_first else output, *finals

    return run


def _packed(name: str, kind: Kind, states: int) -> Callable[..., Any]:
    def run(
        data: Any, batch_sizes: Any, hx: Any, params: Any, has_biases: bool, num_layers: int,
        dropout: float, train: bool, bidirectional: bool,
    ) -> Any:  # fmt: skip
        settings = Settings(has_biases, num_layers, dropout, train, bidirectional)
        sizes = [int(each) for each in batch_sizes.tolist()]
        return _network(kind, data, sizes, _several(hx, states, name), params, settings)

    return run


def _declare(name: str, kind: Kind, states: int, doc: str) -> None:
    hidden = "Tensor hx" if states == 1 else "Tensor[] hx"
    results = ", ".join(["Tensor"] * (states + 1))
    settings = (
        f"{hidden}, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
        "bool bidirectional"
    )
    declare(
        f"{name}.input(Tensor input, {settings}, bool batch_first) -> ({results})",
        doc=f"{doc}, over sequences of one length.",
        decompose=_padded(name, kind, states),
        variants="function",
    )
    declare(
        f"{name}.data(Tensor data, Tensor batch_sizes, {settings}) -> ({results})",
        doc=f"{doc}, over packed sequences.",
        decompose=_packed(name, kind, states),
        variants="function",
    )


_declare("rnn_tanh", RNN_TANH, 1, "Layers of a recurrent network with tanh")
_declare("rnn_relu", RNN_RELU, 1, "Layers of a recurrent network with relu")
_declare("gru", GRU, 1, "Layers of gated recurrent units")
_declare("lstm", LSTM, 2, "Layers of long short-term memory")
