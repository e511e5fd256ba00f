"""An optimizer's step is remembered with all that changes what it means: each way is walked twice.

Every scenario runs on one trie with all others, in rounds that take turns between two ways; the
values must be those of eager runs, whichever way was walked before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import thunk
from thunk.lazy import metrics
from thunk.lazy.eager import execution
from thunk.lazy.run import inflight
from thunk.lazy.trace import traces

ROUNDS = 6
Scenario = Callable[[Any, list[Any], int], None]
SCENARIOS: dict[str, tuple[Callable[[list[Any]], Any], Scenario]] = {}


@pytest.fixture(autouse=True)
def settled() -> Iterator[None]:
    yield
    traces.current.materialise()
    inflight.wait()


def adam(params: list[Any]) -> Any:
    return thunk.optim.Adam(params, lr=0.1)


def momentum(params: list[Any]) -> Any:
    return thunk.optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.5)


def scenario(make: Callable[[list[Any]], Any]) -> Callable[[Scenario], Scenario]:
    def enter(run: Scenario) -> Scenario:
        SCENARIOS[run.__name__] = (make, run)
        return run

    return enter


def differentiate(params: list[Any]) -> None:
    sum((each * each).sum() for each in params).backward()


@scenario(adam)
def a_state_is_read_before_the_step(optimizer: Any, params: list[Any], number: int) -> None:
    differentiate(params)
    if number % 2 and number > 1:
        read = optimizer.state[params[0]]["exp_avg"] * 2
        optimizer.step()
        params[0].data.add_(read)
    else:
        optimizer.step()


@scenario(adam)
def a_state_is_written_before_the_step(optimizer: Any, params: list[Any], number: int) -> None:
    differentiate(params)
    if number % 2 and number > 1:
        optimizer.state[params[1]]["exp_avg_sq"].mul_(4.0)
    optimizer.step()


@scenario(momentum)
def two_states_are_one_tensor(optimizer: Any, params: list[Any], number: int) -> None:
    differentiate(params)
    optimizer.step()
    if number == 2:
        shared = optimizer.state[params[0]]["momentum_buffer"]
        optimizer.state[params[1]]["momentum_buffer"] = shared
    if number == 4:
        optimizer.state[params[1]]["momentum_buffer"] = thunk.ones(3)


@scenario(momentum)
def a_state_has_other_strides(optimizer: Any, params: list[Any], number: int) -> None:
    differentiate(params)
    optimizer.step()
    if number == 2:
        wide = thunk.arange(6.0)
        optimizer.state[params[0]]["momentum_buffer"] = wide[::2]
    if number == 4:
        optimizer.state[params[0]]["momentum_buffer"] = thunk.ones(3)


@scenario(adam)
def the_step_is_made_in_other_modes(optimizer: Any, params: list[Any], number: int) -> None:
    differentiate(params)
    with thunk.set_grad_enabled(number % 2 == 0):
        optimizer.step()
        after = params[0] * 2
    assert after.requires_grad == (number % 2 == 0)


@scenario(adam)
def a_gradient_is_missing(optimizer: Any, params: list[Any], number: int) -> None:
    optimizer.zero_grad()
    differentiate(params[: 1 + number % 2])
    optimizer.step()


@scenario(adam)
def a_parameter_is_frozen(optimizer: Any, params: list[Any], number: int) -> None:
    optimizer.zero_grad()
    params[0].requires_grad_(number % 2 == 0)
    differentiate(params)
    optimizer.step()


@scenario(momentum)
def options_that_select_code_change(optimizer: Any, params: list[Any], number: int) -> None:
    differentiate(params)
    group = optimizer.param_groups[0]
    group["dampening"] = 0.0
    group["nesterov"] = number % 2 == 0
    group["maximize"] = number % 3 == 0
    group["weight_decay"] = 0.1 if number % 4 == 0 else 0
    optimizer.step()


@scenario(momentum)
def momentum_starts_late_for_one(optimizer: Any, params: list[Any], number: int) -> None:
    optimizer.zero_grad()
    differentiate(params if number > 1 else params[:1])
    optimizer.step()


@scenario(adam)
def gradients_were_computed_before(optimizer: Any, params: list[Any], number: int) -> None:
    optimizer.zero_grad()
    differentiate(params)
    if number % 2:
        assert params[0].grad.sum().item() != 0
    optimizer.step()


@scenario(adam)
def an_alias_of_a_state_is_held(optimizer: Any, params: list[Any], number: int) -> None:
    differentiate(params)
    held = None
    if number % 2 and number > 1:
        held = optimizer.state[params[0]]["exp_avg"].detach()
        before = held.clone()
    optimizer.step()
    if held is not None:
        assert thunk.equal(held, optimizer.state[params[0]]["exp_avg"])
        assert not thunk.equal(held, before)


@scenario(adam)
def a_walk_starts_in_other_modes(optimizer: Any, params: list[Any], number: int) -> None:
    if number % 2:
        with thunk.no_grad():
            shifted = params[0] + 1
            assert not shifted.requires_grad
    optimizer.zero_grad()
    differentiate(params)
    optimizer.step()


def run(name: str, lazily: bool) -> list[float]:
    make, scenario_of = SCENARIOS[name]
    with execution(lazily):
        params = [thunk.tensor([1.0, -2.0, 0.5], requires_grad=True) for _ in range(2)]
        optimizer = make(params)
        for number in range(ROUNDS):
            scenario_of(optimizer, params, number)
        found: list[float] = []
        for param in params:
            for each in (param.detach(), *optimizer.state[param].values()):
                if isinstance(each, thunk.Tensor):
                    found += [*each.tolist(), each._version]
                else:
                    found.append(each)
        return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_ways_give_what_eager_runs_give(name: str) -> None:
    expected = run(name, False)
    for _ in range(2):  # on a cold trie and on a warm one
        assert run(name, True) == pytest.approx(expected)


# What is refused and what is recorded anew on a warm trie, because it cannot be remembered.
COSTS = {
    "a_state_is_read_before_the_step": (0, 1),  # the step after a write through `.data`
    "two_states_are_one_tensor": (2, 0),
    "a_state_has_other_strides": (0, 2),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_ways_are_remembered(name: str) -> None:
    run(name, True)
    metrics.reset()
    run(name, True)
    counters = ("ReplayRefused", "UpdateRecorded")
    assert tuple(map(metrics.counter_value, counters)) == COSTS.get(name, (0, 0))


def test_parameters_at_one_stage_share_their_numbers() -> None:
    made = []

    class Counted(thunk.optim.NAdam):
        def _numbers(self, *args: Any) -> Any:
            made.append(1)
            return super()._numbers(*args)

    params = [thunk.ones(2, requires_grad=True) for _ in range(5)]
    optimizer = Counted(params)
    differentiate(params[:2])
    optimizer.step()
    differentiate(params)
    optimizer.step()
    assert len(made) == 1 + 2
