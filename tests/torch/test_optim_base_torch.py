"""The parts that all optimizers share: groups, state dicts, hooks, texts and errors as torch's."""

from __future__ import annotations

import copy
import importlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from tests.torch.optim_pairs import Side, assert_same, pair, values

import thunk

NAMES = [
    "SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop",
    "ASGD", "LBFGS", "Muon", "Adafactor",
]  # fmt: skip
LIBRARIES = (torch, thunk)


def leaf(library: Any, *shape: int) -> Any:
    return library.ones(*shape, requires_grad=True)


def base(library: Any) -> Any:
    """PyTorch hides the module behind a name of its own."""
    return importlib.import_module(f"{library.__name__}.optim.optimizer")


def both(run: Callable[[Any], Any]) -> None:
    wanted, found = run(torch), run(thunk)
    assert found == wanted


def plain(value: Any) -> Any:
    if isinstance(value, (torch.Tensor, thunk.Tensor)):
        return (str(value.dtype), tuple(value.shape), value.detach().tolist())
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(each) for each in value)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_text_defaults_and_fresh_state_are_torchs(name: str) -> None:
    def run(library: Any) -> Any:
        optimizer = getattr(library.optim, name)([leaf(library, 2, 2)])
        return repr(optimizer), optimizer.defaults, plain(optimizer.state_dict())

    both(run)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_groups_have_options_of_their_own(name: str) -> None:
    def run(library: Any) -> Any:
        first, second, third = (leaf(library, 2) for _ in range(3))
        optimizer = getattr(library.optim, name)(
            [{"params": first, "lr": 0.5}, {"params": [second], "weight_decay": 0.1}], lr=0.25
        )
        optimizer.add_param_group({"params": third, "lr": 0.125})
        (first * first + second * second * 2 + third * 3).sum().backward()
        optimizer.step()
        saved = optimizer.state_dict()
        return repr(optimizer), plain(saved["param_groups"]), list(saved["state"])

    both(run)


def test_names_of_parameters_are_kept() -> None:
    def run(library: Any) -> Any:
        params = [("w", leaf(library, 2)), ("b", leaf(library, 1))]
        optimizer = library.optim.SGD(iter(params), lr=0.1, momentum=0.9)
        optimizer.add_param_group({"params": [("late", leaf(library, 3))]})
        saved = optimizer.state_dict()
        other = library.optim.SGD([leaf(library, 2), leaf(library, 1)])
        other.add_param_group({"params": [leaf(library, 3)]})
        other.load_state_dict(saved)
        return plain(saved), plain(other.state_dict())

    both(run)


def test_the_same_parameter_twice_keeps_its_number() -> None:
    def run(library: Any) -> Any:
        one, two = leaf(library, 1), leaf(library, 1)
        with pytest.warns(UserWarning, match="duplicate parameters"):
            optimizer = library.optim.SGD([one, one, two], lr=0.1)
        return optimizer.state_dict()["param_groups"][0]["params"]

    both(run)


BAD: dict[str, Callable[[Any], Any]] = {
    "a tensor": lambda lib: lib.optim.SGD(leaf(lib, 1)),
    "nothing": lambda lib: lib.optim.SGD([]),
    "a number": lambda lib: lib.optim.SGD([1.0]),
    "a set": lambda lib: lib.optim.SGD([{"params": {leaf(lib, 1)}}]),
    "no leaf": lambda lib: lib.optim.SGD([leaf(lib, 1) * 2]),
    "half named": lambda lib: lib.optim.SGD([("a", leaf(lib, 1)), leaf(lib, 1)]),
    "named and unnamed": lambda lib: lib.optim.SGD([("a", leaf(lib, 1))]).add_param_group(
        {"params": [leaf(lib, 1)]}
    ),
    "no group": lambda lib: lib.optim.SGD([leaf(lib, 1)]).add_param_group([leaf(lib, 1)]),
    "a group without params": lambda lib: lib.optim.SGD([{"lr": 1.0}]),
    "required": lambda lib: lib.optim.Optimizer(
        [{"params": [leaf(lib, 1)]}], {"lr": base(lib).required}
    ),
    "other groups": lambda lib: lib.optim.SGD([leaf(lib, 1)]).load_state_dict(
        {"state": {}, "param_groups": []}
    ),
    "other sizes": lambda lib: lib.optim.SGD([leaf(lib, 1)]).load_state_dict(
        {"state": {}, "param_groups": [{"params": [0, 1]}]}
    ),
    "negative lr": lambda lib: lib.optim.SGD([leaf(lib, 1)], lr=-1),
    "lr of two": lambda lib: lib.optim.Adam([leaf(lib, 1)], lr=lib.ones(2)),
    "lr for foreach": lambda lib: lib.optim.Adam([leaf(lib, 1)], lr=lib.ones(()), foreach=True),
    "momentum": lambda lib: lib.optim.SGD([leaf(lib, 1)], momentum=-1),
    "nesterov": lambda lib: lib.optim.SGD([leaf(lib, 1)], nesterov=True),
    "decay": lambda lib: lib.optim.Adadelta([leaf(lib, 1)], weight_decay=-0.1),
    "betas": lambda lib: lib.optim.Adam([leaf(lib, 1)], betas=(0.9, 1.0)),
    "mixed betas": lambda lib: lib.optim.Adam([leaf(lib, 1)], betas=(0.9, lib.tensor(0.9))),
    "eps": lambda lib: lib.optim.NAdam([leaf(lib, 1)], eps=-1),
    "rho": lambda lib: lib.optim.Adadelta([leaf(lib, 1)], rho=1.5),
    "etas": lambda lib: lib.optim.Rprop([leaf(lib, 1)], etas=(1.5, 2)),
    "fused and foreach": lambda lib: lib.optim.AdamW([leaf(lib, 1)], fused=True, foreach=True),
    "fused differentiable": lambda lib: lib.optim.SGD(
        [leaf(lib, 1)], fused=True, differentiable=True
    ),
    "groups for L-BFGS": lambda lib: lib.optim.LBFGS(
        [{"params": [leaf(lib, 1)]}, {"params": [leaf(lib, 1)]}]
    ),
    "vector for Muon": lambda lib: lib.optim.Muon([leaf(lib, 3)]),
    "adjustment for Muon": lambda lib: lib.optim.Muon([leaf(lib, 3, 3)], adjust_lr_fn="x"),
    "Adafactor's decay": lambda lib: lib.optim.Adafactor([leaf(lib, 3)], beta2_decay=0.1),
    "Adafactor's clip": lambda lib: lib.optim.Adafactor([leaf(lib, 3)], d=0.5),
    "no step": lambda lib: lib.optim.Optimizer([leaf(lib, 1)], {}).step(),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_arguments_raise_as_in_torch(name: str) -> None:
    kinds = []
    for library in LIBRARIES:
        with pytest.raises(Exception) as caught:
            BAD[name](library)
        kinds.append(caught.type)
    assert kinds[1] is kinds[0]


def test_one_parameter_in_two_groups_is_refused() -> None:
    for library in LIBRARIES:
        param = leaf(library, 1)
        with pytest.raises(ValueError, match="more than one parameter group"):
            library.optim.SGD([{"params": [param]}, {"params": [param]}])


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad(set_to_none: bool) -> None:
    def run(library: Any) -> Any:
        used, unused = leaf(library, 2), leaf(library, 1)
        optimizer = library.optim.SGD([used, unused])
        (used * used).sum().backward(create_graph=True)
        held = used.grad
        optimizer.zero_grad(set_to_none)
        if set_to_none:
            return used.grad, unused.grad
        return used.grad is held, used.grad.tolist(), used.grad.requires_grad, unused.grad

    both(run)


def test_hooks_run_in_order_with_torchs_arguments() -> None:
    def run(library: Any) -> Any:
        seen: list[Any] = []
        param = leaf(library, 1)
        optimizer = library.optim.SGD([param], lr=0.5)

        def noting(name: str) -> Callable[..., None]:
            def hook(owner: Any, args: Any, kwargs: Any) -> None:
                seen.append((name, owner is optimizer, len(args), sorted(kwargs)))

            return hook

        def replace(owner: Any, args: Any, kwargs: Any) -> Any:
            return (args[0],), {"closure": lambda: 7}

        handles = [
            base(library).register_optimizer_step_pre_hook(noting("all before")),
            base(library).register_optimizer_step_post_hook(noting("all after")),
            optimizer.register_step_pre_hook(noting("before")),
            optimizer.register_step_post_hook(noting("after")),
        ]
        results = [optimizer.step(), optimizer.step(lambda: 3), optimizer.step(closure=lambda: 4)]
        extra = optimizer.register_step_pre_hook(replace)
        results.append(optimizer.step())
        extra.remove()
        for handle in handles:
            handle.remove()
        optimizer.step()
        bad = optimizer.register_step_pre_hook(lambda *given: 1)
        with pytest.raises(RuntimeError):
            optimizer.step()
        bad.remove()
        return seen, results

    both(run)


def test_hooks_of_state_dicts() -> None:
    def run(library: Any) -> Any:
        seen: list[str] = []
        optimizer = library.optim.SGD([leaf(library, 1)], lr=0.5)
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("pre"))
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
        optimizer.register_state_dict_post_hook(lambda o, d: {**d, "extra": 1})
        optimizer.register_load_state_dict_pre_hook(lambda o, d: seen.append(f"load {len(d)}"))
        optimizer.register_load_state_dict_pre_hook(
            lambda o, d: {**d, "param_groups": [{**d["param_groups"][0], "lr": 0.125}]}
        )
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
        saved = optimizer.state_dict()
        optimizer.load_state_dict(saved)
        return seen, saved, optimizer.param_groups[0]["lr"]

    both(run)


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "ASGD"])
@pytest.mark.parametrize("way", ["deepcopy", "pickle", "state dict"])
def test_copies_go_on_alike(name: str, way: str) -> None:
    """The same bits, whether the optimizer went on or a copy of it."""
    options: dict[str, Any] = {"momentum": 0.9} if name == "SGD" else {}
    make = lambda optim, params: getattr(optim, name)(params, lr=0.05, **options)  # noqa: E731
    whole, half = Side(thunk, make, "float32"), Side(thunk, make, "float32")
    whole.run(5)
    half.run(5)
    if way == "state dict":
        fresh = make(thunk.optim, half.params)
        fresh.load_state_dict(copy.deepcopy(half.optimizer.state_dict()))
        half.optimizer = fresh
    elif way == "deepcopy":
        half.params, half.optimizer = copy.deepcopy((half.params, half.optimizer))
    else:
        half.params, half.optimizer = pickle.loads(pickle.dumps((half.params, half.optimizer)))
    assert all(a is b for a, b in zip(half.optimizer.param_groups[0]["params"], half.params,
                                      strict=True))  # fmt: skip
    whole.run(5)
    half.run(5)
    assert_same(whole, half, 0, 0)


def test_loaded_state_takes_the_parameters_dtype() -> None:
    def run(library: Any) -> Any:
        single = library.optim.Adam([leaf(library, 2)])
        single.param_groups[0]["params"][0].grad = library.ones(2)
        single.step()
        double = library.ones(2, dtype=library.float64, requires_grad=True)
        other = library.optim.Adam([double])
        other.load_state_dict(single.state_dict())
        return plain(other.state_dict()["state"])

    both(run)


def test_older_checkpoints_get_the_options_they_lack() -> None:
    def run(library: Any) -> Any:
        optimizer = library.optim.Adam([leaf(library, 2)], maximize=True)
        saved = optimizer.state_dict()
        group = saved["param_groups"][0]
        for name in ("amsgrad", "maximize", "foreach", "capturable", "differentiable", "fused"):
            del group[name]
        saved["state"] = {0: {"step": 3, "exp_avg": library.ones(2), "exp_avg_sq": library.ones(2)}}
        optimizer.load_state_dict(saved)
        return plain(optimizer.state_dict())

    both(run)


def test_a_subclass_with_a_step_of_its_own() -> None:
    def run(library: Any) -> Any:
        class Sign(library.optim.Optimizer):  # type: ignore[misc, name-defined]
            def __init__(self, params: Any, lr: float) -> None:
                super().__init__(params, {"lr": lr})

            @library.no_grad()
            def step(self, closure: Any = None) -> Any:
                for group in self.param_groups:
                    for param in group["params"]:
                        state = self.state[param]
                        state["step"] = state.get("step", 0) + 1
                        state.setdefault("sum", library.zeros_like(param)).add_(param.grad)
                        param.add_(param.grad.sign(), alpha=-group["lr"])

        seen: list[int] = []
        param = leaf(library, 2)
        optimizer = Sign([param], 0.25)
        optimizer.register_step_post_hook(lambda *args: seen.append(1))
        for _ in range(3):
            optimizer.zero_grad()
            (param * library.tensor([1.0, -2.0])).sum().backward()
            optimizer.step()
        saved = plain(optimizer.state_dict())
        optimizer.load_state_dict(optimizer.state_dict())
        return seen, param.tolist(), saved, plain(optimizer.state_dict()), repr(optimizer)

    both(run)


DIFFERENTIABLE = {
    "SGD": {"momentum": 0.9, "nesterov": True}, "Adam": {"amsgrad": True}, "AdamW": {},
    "Adamax": {}, "NAdam": {}, "RAdam": {}, "Adagrad": {}, "Adadelta": {},
    "RMSprop": {"momentum": 0.5, "centered": True}, "Rprop": {}, "ASGD": {},
}  # fmt: skip


def steps(library: Any, name: str, start: Any, slope: Any, factors: tuple[float, ...]) -> Any:
    param = start.clone()
    decay = {} if name == "Rprop" else {"weight_decay": 0.1}
    optimizer = getattr(library.optim, name)(
        [param], lr=0.1, differentiable=True, **decay, **DIFFERENTIABLE[name]
    )
    for factor in factors:
        param.grad = slope * factor
        optimizer.step()
    return param


def beginning(library: Any) -> tuple[Any, ...]:
    start, slope = (values("float64", seed)[0][:, 0] for seed in (0, 1))
    return tuple(library.from_numpy(each.copy()).requires_grad_() for each in (start, slope))


@pytest.mark.parametrize("name", list(DIFFERENTIABLE))
def test_a_differentiable_step_has_torchs_gradient(name: str) -> None:
    def run(library: Any) -> Any:
        start, slope = beginning(library)
        param = steps(library, name, start, slope, (1.0,))
        (param * param).sum().backward()
        return [each.detach().numpy() for each in (param, start.grad, slope.grad)]

    wanted, found = run(torch), run(thunk)
    if name == "SGD":
        wanted, found = wanted[:1], found[:1]  # torch cuts the first momentum off its history
    for one, other in zip(wanted, found, strict=True):
        # Torch corrects biases in single precision here.
        numpy.testing.assert_allclose(other, one, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", list(DIFFERENTIABLE))
def test_differentiable_steps_in_a_row_have_the_gradient_of_differences(name: str) -> None:
    assert thunk.autograd.gradcheck(
        lambda start, slope: steps(thunk, name, start, slope, (1.0, 2.0, -0.5)), beginning(thunk)
    )


def test_a_learning_rate_has_a_gradient_in_a_differentiable_step() -> None:
    def run(library: Any) -> Any:
        rate = library.tensor(0.1, dtype=library.float64, requires_grad=True)
        param = library.ones(3, dtype=library.float64, requires_grad=True).clone()
        optimizer = library.optim.SGD([param], lr=rate, differentiable=True)
        param.grad = library.arange(3, dtype=library.float64)
        optimizer.step()
        (param * param).sum().backward()
        return rate.grad.item()

    assert run(thunk) == pytest.approx(run(torch))


@pytest.mark.parametrize("flag", ["foreach", "fused"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_torchs_ways_of_running_a_step_are_accepted(name: str, flag: str) -> None:
    theirs, ours = pair(
        lambda optim, params: getattr(optim, name)(params, lr=0.05, **{flag: True}), "float32"
    )
    theirs.run(4)
    ours.run(4)
    assert_same(theirs, ours, 2e-6, 1e-6)


def test_learning_rates_change_between_steps() -> None:
    theirs, ours = pair(lambda optim, params: optim.Adam(params, lr=0.5), "float32")
    for side in (theirs, ours):
        for factor in (1.0, 0.1, 3.0, 0.01):
            side.optimizer.param_groups[0]["lr"] = 0.1 * factor
            side.run(2)
    assert_same(theirs, ours, 2e-6, 1e-6)
