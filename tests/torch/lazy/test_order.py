"""What aliases, foreign memory and Python's own state show is what eager execution shows."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.torch.lazy.costs import batches, counted, lazily, perceptron, train

import thunk
from thunk import nn, optim


@pytest.fixture(autouse=True)
def lazy_execution() -> Any:
    with lazily():
        yield


def test_a_value_keeps_what_it_was_made_of() -> None:
    a = thunk.tensor([1.0, 2.0])
    b = a + 0.9
    a += 0.4
    assert [repr(a), repr(a), repr(b)] == [
        "tensor([1.4000, 2.4000])", "tensor([1.4000, 2.4000])", "tensor([1.9000, 2.9000])",
    ]  # fmt: skip


@pytest.mark.parametrize("steps", [1, 5])
def test_state_taken_before_training_still_aliases(steps: int) -> None:
    model = perceptron()
    state = model.state_dict()
    before = {name: value.tolist() for name, value in state.items()}
    train(model, optim.Adam(model.parameters()), batches(steps))
    for name, parameter in model.named_parameters():
        assert state[name].tolist() == parameter.tolist() != before[name]
        assert state[name].data_ptr() == parameter.data_ptr()


def test_tied_weights_stay_tied() -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6))
    model[2].weight = model[0].weight
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for inputs, _ in batches(4):
        optimizer.zero_grad()
        model(inputs).square().sum().backward()
        optimizer.step()
    assert model[0].weight is model[2].weight
    assert model[0].weight.tolist() == model.state_dict()["2.weight"].tolist()


def test_a_pending_write_shows_in_the_array() -> None:
    array = numpy.array([1.0, 2.0])
    shared = thunk.from_numpy(array)
    shared.mul_(3)
    assert array.tolist() == [3.0, 6.0]
    shared[0] = -1
    assert array.tolist() == [-1.0, 6.0]


def test_memory_that_was_handed_out_follows_later_writes() -> None:
    tensor = thunk.ones(3) * 2
    array = tensor.numpy()
    tensor.add_(1)
    assert array.tolist() == [3.0, 3.0, 3.0]
    array[1] = 7
    assert (tensor * 2).tolist() == [6.0, 14.0, 6.0]


def test_views_follow_their_base_and_bases_their_views() -> None:
    base = thunk.zeros(2, 3)
    row, column = base[0], base[:, 1]
    row += 1
    column *= 5
    base.t()[2] = 9
    assert base.tolist() == [[1.0, 5.0, 9.0], [0.0, 0.0, 9.0]]
    assert (row.tolist(), column.tolist()) == ([1.0, 5.0, 9.0], [5.0, 0.0])
    assert base._version == row._version == 3


@pytest.mark.parametrize("positions", [(), (0,), (1,), (2,), (0, 1, 2)])
def test_barriers_change_no_result(positions: tuple[int, ...]) -> None:
    thunk.manual_seed(3)
    model = perceptron(dropout=0.5)
    optimizer = optim.Adam(model.parameters())
    losses = []
    for inputs, classes in batches(6):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), classes)
        if 0 in positions:
            loss.item()
        loss.backward()
        if 1 in positions:
            repr(model[0].weight.grad)
        optimizer.step()
        if 2 in positions:
            model[0].weight.tolist()
        losses.append(loss)
    found = [each.item() for each in losses]
    expected = _losses_without_barriers()
    assert found == pytest.approx(expected, rel=1e-5)


def _losses_without_barriers() -> list[float]:
    thunk.manual_seed(3)
    model = perceptron(dropout=0.5)
    optimizer = optim.Adam(model.parameters())
    losses: list[Any] = []
    train(model, optimizer, batches(6), lambda step, loss: losses.append(loss))
    return [each.item() for each in losses]


def test_dropout_differs_from_step_to_step_and_costs_no_compile() -> None:
    x = thunk.ones(64)
    for _ in range(3):
        thunk.dropout(x, 0.5, True).tolist()
    with counted() as costs:
        masks = [tuple(thunk.dropout(x, 0.5, True).tolist()) for _ in range(10)]
    assert costs.new == 0 and len(set(masks)) == 10


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_random_numbers_do_not_depend_on_the_order_of_looking(order: tuple[int, ...]) -> None:
    x = thunk.ones(16)

    def draw() -> list[Any]:
        thunk.manual_seed(11)
        return [thunk.dropout(x, 0.5, True) for _ in range(3)]

    expected = [each.tolist() for each in draw()]
    masks = draw()
    found = {place: masks[place].tolist() for place in order}
    assert [found[place] for place in range(3)] == expected


def test_python_state_is_never_frozen() -> None:
    """What functions see of Python at each call counts, not what they saw at first."""
    settings = {"scale": 2.0, "layers": [1.0]}
    x = thunk.tensor([1.0, 2.0])
    counter = iter(range(100))

    def run() -> list[float]:
        y = x * settings["scale"] + next(counter)
        for each in settings["layers"]:
            y = y + each
        return (y * len(settings["layers"])).tolist()

    assert run() == [3.0, 5.0]
    settings["scale"] = 3.0
    assert run() == [5.0, 8.0]
    settings["layers"].append(10.0)
    assert run() == [32.0, 38.0]
    settings["scale"] = 1
    assert run() == [30.0, 32.0]


@pytest.mark.parametrize("kinds", [(1, 1.0, True), (0.0, -0.0), (2, 2.0)])
def test_numbers_that_compare_equal_are_kept_apart(kinds: tuple[Any, ...]) -> None:
    x = thunk.tensor([1, -2])
    for _ in range(3):
        for number in kinds:
            result = x * number
            expected = numpy.array([1, -2]) * number
            assert result.dtype.is_floating_point == isinstance(number, float)
            assert numpy.signbit(result.numpy()).tolist() == numpy.signbit(expected).tolist()
            assert result.tolist() == expected.tolist()


def test_a_result_computed_op_by_op_is_no_constant() -> None:
    for values in ([1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [1.0, 1.0, 1.0]):
        x = thunk.tensor(values)
        assert (x.nonzero() + 1).tolist() == [[i + 1] for i, v in enumerate(values) if v]


def test_an_array_that_changes_while_reads_are_pending() -> None:
    array = numpy.array([1.0, 2.0])
    shared = thunk.from_numpy(array)
    before = shared * 10
    array[0] = 5.0
    after = shared * 10
    assert (before.tolist(), after.tolist()) == ([10.0, 20.0], [50.0, 20.0])
