"""Recurrent networks and packed sequences, against torch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from tests.torch.layers.judge import (
    TOLERANCE,
    Config,
    backward,
    gradients,
    judge,
    make,
    over,
    same_state,
    seed_everywhere,
    subject,
)
from tests.torch.oracle.compare import Comparison
from tests.torch.oracle.convert import to_array
from tests.torch.oracle.subject import calls, reference

import thunk

KINDS = (
    ("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("GRU", {}), ("LSTM", {}),
    ("LSTM", {"proj_size": 2}),
)  # fmt: skip
SHAPES = (
    {}, {"bidirectional": True}, {"num_layers": 3, "bias": False},
    {"num_layers": 2, "bidirectional": True, "batch_first": True},
    {"num_layers": 2, "dropout": 1.0},
)  # fmt: skip
LENGTHS = ([4, 2, 2, 1], [1, 4, 2, 4], [3, 3, 3, 3])

Recurrent = tuple[str, dict[str, Any], dict[str, Any]]


def networks() -> list[Recurrent]:
    return [(name, kind, shape) for (name, kind), shape in itertools.product(KINDS, SHAPES)]


def states(name: str, kwargs: dict[str, Any], dtype: torch.dtype, batch: int = 4) -> Any:
    layers = kwargs.get("num_layers", 1) * (2 if kwargs.get("bidirectional") else 1)
    hidden = torch.randn(layers, batch, kwargs.get("proj_size") or 5, dtype=dtype)
    if name != "LSTM":
        return hidden.requires_grad_()
    return hidden.requires_grad_(), torch.randn(layers, batch, 5, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize(("name", "kind", "shape"), networks())
def test_a_network_is_torchs(name: str, kind: dict[str, Any], shape: dict[str, Any]) -> None:
    """Dropout drops all or nothing here, so that chance has no part in it."""
    kwargs = {**kind, **shape}
    torch.manual_seed(3)
    data = torch.randn(4, 4, 3, dtype=torch.float64, requires_grad=True)
    given = states(name, kwargs, torch.float64)
    for inputs in ((data,), (data, given)):
        judge(Config(name, (3, 5), kwargs, inputs), torch.float64, training=True)
    judge(Config(name, (3, 5), kwargs, (data,)), torch.float64, training=False)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize(("name", "kind", "shape"), networks()[::2])
def test_a_network_over_packed_sequences_is_torchs(
    name: str, kind: dict[str, Any], shape: dict[str, Any], lengths: list[int]
) -> None:
    kwargs = {**kind, **shape}
    torch.manual_seed(5)
    data = torch.randn(4, 4, 3, dtype=torch.float64, requires_grad=True)
    config = Config(name, (3, 5), kwargs)
    for given in (None, states(name, kwargs, torch.float64)):
        answers = [
            packed_answer(library, config, data, lengths, given)
            for library in (reference(), subject())
        ]
        Comparison(subject(), TOLERANCE).check(*answers)


def packed_answer(
    library: Any, config: Config, data: torch.Tensor, lengths: list[int], given: Any
) -> Any:
    """Everything that a packed call gives: rows, sizes, orders, states and gradients."""
    rnn = library.resolve("nn.utils.rnn")
    seed_everywhere(subject())
    module = make(library, config).to(over(library, torch.float64))
    first = config.kwargs.get("batch_first", False)
    leaf, hidden = over(library, (data, given))
    packed = rnn.pack_padded_sequence(leaf, lengths, batch_first=first, enforce_sorted=False)
    output, final = module(packed, hidden)
    assert type(output) is rnn.PackedSequence
    padded, back = rnn.pad_packed_sequence(output, batch_first=first, padding_value=-2.0)
    backward(library, (padded, final))
    leaves = [leaf, *(hidden if isinstance(hidden, tuple) else [hidden] * (hidden is not None))]
    return [tuple(output), padded, back, final, gradients(module, leaves)]


def sequences(library: Any, lengths: list[int]) -> list[Any]:
    torch.manual_seed(0)
    return over(library, [torch.randn(length, 2) for length in lengths])


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("batch_first", [False, True])
def test_padding_and_packing_are_torchs(lengths: list[int], batch_first: bool) -> None:
    found = []
    for library in (reference(), subject()):
        rnn, given = library.resolve("nn.utils.rnn"), sequences(library, lengths)
        padded = rnn.pad_sequence(given, batch_first, padding_value=0.5)
        left = rnn.pad_sequence(given, batch_first, padding_side="left")
        packed = rnn.pack_sequence(given, enforce_sorted=False)
        long = rnn.pad_packed_sequence(packed, batch_first, -1.0, total_length=6)
        counts = library.module.tensor(lengths)
        whole = rnn.unpad_sequence(padded.clone(), counts, batch_first)
        double = packed.double()
        found.append(
            [padded, left, list(packed), *long, whole, rnn.unpack_sequence(packed), list(double)]
        )
        assert packed.to(padded.dtype) is packed
    Comparison(subject(), TOLERANCE).check(*found)


def test_packed_labels_of_any_dtype_and_rank() -> None:
    found = []
    for library in (reference(), subject()):
        rnn = library.resolve("nn.utils.rnn")
        given = over(library, torch.arange(12).reshape(4, 3))
        packed = rnn.pack_padded_sequence(given, [4, 3, 1])
        found.append([list(packed), *rnn.pad_packed_sequence(packed, True)])
    Comparison(subject(), TOLERANCE).check(*found)


REFUSED = {
    "unsorted": lambda rnn, x: rnn.pack_padded_sequence(x, [1, 2]),
    "empty sequence": lambda rnn, x: rnn.pack_padded_sequence(x, [2, 0]),
    "too few lengths": lambda rnn, x: rnn.pack_padded_sequence(x, [3]),
    "nothing to pack": lambda rnn, x: rnn.pack_padded_sequence(x[:, :0], []),
    "no sequences": lambda rnn, x: rnn.pad_sequence([]),
    "not iterable": lambda rnn, x: rnn.pad_sequence(3),
    "no such side": lambda rnn, x: rnn.pad_sequence([x, x], padding_side="top"),
    "too short a total": lambda rnn, x: rnn.pad_packed_sequence(
        rnn.pack_padded_sequence(x, [3, 1]), total_length=2
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_packing_raises_what_torch_raises(case: str) -> None:
    errors = []
    for library in (reference(), subject()):
        given = over(library, torch.ones(3, 2, 2))
        errors.append(calls(REFUSED[case], library.resolve("nn.utils.rnn"), given)[1])
    assert errors[0] is not None
    assert type(errors[1]) is type(errors[0]), repr(errors[1])


@pytest.mark.parametrize("name", ["RNNCell", "GRUCell", "LSTMCell"])
@pytest.mark.parametrize("bias", [True, False])
def test_cells_take_states_and_single_samples(name: str, bias: bool) -> None:
    torch.manual_seed(2)
    for lead in ((2,), ()):
        data = torch.randn(*lead, 3, dtype=torch.float64, requires_grad=True)
        hidden = torch.randn(*lead, 4, dtype=torch.float64, requires_grad=True)
        state = (hidden, hidden * 2) if name == "LSTMCell" else hidden
        config = Config(name, (3, 4), {"bias": bias}, (data, over(reference(), state)))
        judge(config, torch.float64, training=True)


def test_replaced_weights_are_used() -> None:
    module = thunk.nn.LSTM(3, 4)
    data = thunk.ones(2, 1, 3)
    module.weight_ih_l0 = thunk.nn.Parameter(thunk.zeros(16, 3))
    module.bias_ih_l0 = thunk.nn.Parameter(thunk.zeros(16))
    output, _ = module(data)
    other, _ = module(data * 5)
    assert thunk.equal(output, other)
    assert module.all_weights[0][0] is module.weight_ih_l0
    module.flatten_parameters()


def test_weights_of_torch_load_and_answer_alike() -> None:
    theirs = torch.nn.LSTM(3, 4, 2, bidirectional=True)
    ours = thunk.nn.LSTM(3, 4, 2, bidirectional=True)
    ours.load_state_dict(over(subject(), dict(theirs.state_dict())))
    same_state(subject(), theirs, ours)
    data = torch.randn(5, 2, 3)
    expected = theirs(data)[0].detach().numpy()
    actual = to_array(subject(), ours(over(subject(), data))[0])
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
