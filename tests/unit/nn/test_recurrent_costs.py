"""What a recurrent network costs: how many operators stand behind its result, by name."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import thunk
from thunk.nn.utils.rnn import pack_sequence

STEPS = 7


def operators_behind(*results: Any) -> Counter[str]:
    """The operators whose backward steps lead to the results, counted by name."""
    found: Counter[str] = Counter()
    waiting = [each.grad_fn for each in results]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if hasattr(node, "op"):
            found[node.op.name] += 1
        waiting += [following for following, _ in node.next_functions]
    return found


# The pointwise operators of a step and the views that take its gates apart.
PER_STEP = {"RNN": (1, 0), "LSTM": (9, 1), "GRU": (8, 3)}
POINTWISE = ("add", "mul", "sub", "sigmoid", "tanh")
VIEWS = ("split_with_sizes", "split", "chunk", "narrow", "slice")


@pytest.mark.parametrize("name", PER_STEP)
@pytest.mark.parametrize(("layers", "directions"), [(1, 1), (2, 2)])
def test_one_product_for_all_inputs_and_one_a_step(
    name: str, layers: int, directions: int
) -> None:
    network = getattr(thunk.nn, name)(3, 4, layers, bidirectional=directions == 2)
    output, state = network(thunk.ones(STEPS, 2, 3))
    states = state if isinstance(state, tuple) else (state,)
    count = operators_behind(output, *states)
    passes = layers * directions
    assert count["linear"] == passes
    assert count["addmm"] + count["mm"] == passes * STEPS
    pointwise = sum(count[each] for each in POINTWISE)
    views = sum(count[each] for each in VIEWS)
    most_pointwise, most_views = PER_STEP[name]
    # One addition a pass joins the biases of networks that only see their sum.
    assert pointwise <= passes * (STEPS * most_pointwise + 1)
    assert views <= passes * (STEPS * most_views + 1)
    # Each pass joins its steps with one more; so do directions, and final states.
    assert count["cat"] <= passes + layers + len(states)
    assert sum(count.values()) <= passes * (STEPS * (most_pointwise + most_views + 1) + 20)


def test_packed_sequences_of_one_length_cost_no_more() -> None:
    network = thunk.nn.GRU(3, 4)
    even = pack_sequence([thunk.ones(STEPS, 3)] * 2)
    count = operators_behind(network(even)[0].data)
    assert count["linear"] == 1
    assert count["addmm"] == STEPS
    assert count["cat"] == 1


def test_rows_past_the_end_of_a_sequence_are_not_computed() -> None:
    """A step's product has as many rows as sequences reach it."""
    weight = thunk.nn.RNN(1, 1, bias=False)
    packed = pack_sequence([thunk.ones(3, 1), thunk.ones(1, 1)])
    output, final = weight(packed)
    assert tuple(output.data.shape) == (4, 1)
    assert output.batch_sizes.tolist() == [2, 1, 1]
    assert thunk.equal(final[0, 0], output.data[3])
    assert thunk.equal(final[0, 1], output.data[1])
