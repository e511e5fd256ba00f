"""What optimizers promise beyond PyTorch: notices of steps, numbers in states, clear refusals."""

from __future__ import annotations

from typing import Any

import pytest

import thunk
from thunk.optim import optimizer as base


def leaf(*shape: int) -> Any:
    return thunk.ones(*shape, requires_grad=True)


def test_whoever_asked_hears_of_each_step_once_it_is_made() -> None:
    param = leaf(2)
    optimizer = thunk.optim.SGD([param], lr=0.5)
    seen: list[Any] = []
    notice = lambda: seen.append(param.tolist())  # noqa: E731
    base.after_step.append(notice)
    try:
        param.grad = thunk.ones(2)
        optimizer.step()
        optimizer.step(lambda: 1.0)
        with pytest.raises(ZeroDivisionError):
            optimizer.step(lambda: 1 / 0)
    finally:
        base.after_step.remove(notice)
    optimizer.step()
    assert seen == [[0.5, 0.5], [0.0, 0.0]]


def test_subclasses_tell_of_their_steps_too() -> None:
    class Still(thunk.optim.Optimizer):
        def step(self, closure: Any = None) -> Any:
            return "done"

    seen: list[int] = []
    notice = lambda: seen.append(1)  # noqa: E731
    base.after_step.append(notice)
    try:
        assert Still([leaf(1)], {}).step() == "done"
    finally:
        base.after_step.remove(notice)
    assert seen == [1]


def test_counts_are_numbers_in_memory_and_tensors_in_a_state_dict() -> None:
    param = leaf(2)
    optimizer = thunk.optim.NAdam([param])
    param.grad = thunk.ones(2)
    optimizer.step()
    assert optimizer.state[param]["step"] == 1.0
    saved = optimizer.state_dict()["state"][0]
    for name in ("step", "mu_product"):
        assert saved[name].dtype is thunk.float32
        assert saved[name].shape == ()
    for count in (thunk.tensor(7.0), 7, 7.0):
        state = {"step": count, "mu_product": 0.5, "exp_avg": param, "exp_avg_sq": param}
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": {0: state}, "param_groups": groups})
        assert type(optimizer.state[param]["step"]) is float
        assert optimizer.state[param]["step"] == 7.0


def test_counts_follow_the_default_dtype() -> None:
    thunk.set_default_dtype(thunk.float64)
    try:
        optimizer = thunk.optim.Adagrad([leaf(2)])
        assert optimizer.state_dict()["state"][0]["step"].dtype is thunk.float64
    finally:
        thunk.set_default_dtype(thunk.float32)


def test_parameters_without_gradients_are_left_alone() -> None:
    used, unused = leaf(2), leaf(2)
    optimizer = thunk.optim.Adam([used, unused], weight_decay=0.1)
    used.grad = thunk.ones(2)
    optimizer.step()
    assert unused.tolist() == [1.0, 1.0]
    assert list(optimizer.state) == [used]


def test_a_step_records_no_gradient_and_changes_parameters_in_place() -> None:
    param = leaf(2)
    view, memory = param.detach(), param.data_ptr()
    optimizer = thunk.optim.RMSprop([param], momentum=0.5)
    param.grad = thunk.ones(2)
    version = param._version
    optimizer.step()
    assert param.grad_fn is None
    assert param.is_leaf
    assert param.data_ptr() == memory
    assert thunk.equal(view, param.detach())
    assert param._version > version
    assert not optimizer.state[param]["square_avg"].requires_grad


def test_closures_run_with_gradients_inside_no_grad() -> None:
    param = leaf(2)
    optimizer = thunk.optim.SGD([param], lr=0.25)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (param * 2).sum()
        loss.backward()
        return loss

    with thunk.no_grad():
        assert optimizer.step(closure).item() == 4.0
    assert param.tolist() == [0.5, 0.5]
    with pytest.raises(TypeError, match="closure"):
        thunk.optim.LBFGS([param]).step()


def test_momentum_zero_keeps_no_state() -> None:
    param = leaf(2)
    optimizer = thunk.optim.SGD([param], lr=0.25)
    param.grad = thunk.ones(2)
    optimizer.step()
    assert optimizer.state_dict()["state"] == {}


def test_adagrads_sums_can_be_shared() -> None:
    param = leaf(2)
    optimizer = thunk.optim.Adagrad([param], initial_accumulator_value=0.5)
    optimizer.share_memory()
    assert optimizer.state[param]["sum"].is_shared()
    assert optimizer.state[param]["sum"].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: thunk.optim.Adam([leaf(1)], lr=-1), "Adam: expected lr of at least 0, got -1"),
        (lambda: thunk.optim.AdamW([leaf(1)], eps=-1), "AdamW: expected eps of at least 0"),
        (lambda: thunk.optim.SGD([]), "SGD: .* empty parameter list"),
        (lambda: thunk.optim.Adam([leaf(1) * 1]), "non-leaf Tensor"),
        (lambda: thunk.optim.RAdam([leaf(1)], betas=(1.0, 0.5)), r"betas\[0\] in \[0, 1\)"),
    ],
)
def test_messages_name_the_optimizer_and_the_option(make: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()
