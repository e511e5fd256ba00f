"""nn.utils against PyTorch; numbers are compared with a tolerance, everything else exactly."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import thunk
from transcripts import Log, transcript

BOTH = (thunk, torch)


def as_torch(value: Any) -> torch.Tensor:
    return torch.tensor(value.tolist(), dtype=getattr(torch, str(value.dtype).split(".")[1]))


def compare(play: Callable[[Any], list[Any]], tolerance: float = 2e-5) -> None:
    """Both libraries' values: tensors are close, the rest is equal."""
    found = []
    for lib in BOTH:
        lib.manual_seed(5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(play(lib))
    assert len(found[0]) == len(found[1])
    for ours, theirs in zip(*found, strict=True):
        if isinstance(theirs, torch.Tensor):
            torch.testing.assert_close(
                as_torch(ours), theirs.detach(), rtol=tolerance, atol=tolerance
            )
        else:
            assert str(ours).replace("thunk.", "torch.") == str(theirs)


def steps(lib: Any, module: Any, x: Any, count: int = 3) -> list[Any]:
    """What a few steps of gradient descent see, the state dict and its keys."""
    seen: list[Any] = [module]
    for _ in range(count):
        y = module(x)
        seen.append(y)
        module.zero_grad()
        y.square().sum().backward()
        with lib.no_grad():
            for parameter in module.parameters():
                parameter -= 0.05 * parameter.grad
                seen.append(parameter.grad)
    state = module.state_dict()
    return [*seen, list(state), *state.values(), module.eval()(x), module.eval()(x)]


def linear_input(lib: Any, columns: int) -> Any:
    return lib.sin(lib.arange(float(2 * columns))).reshape(2, columns)


def picture(lib: Any) -> Any:
    return lib.sin(lib.arange(32.0)).reshape(1, 2, 4, 4)


KINDS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "new weight_norm": lambda lib: (
        lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(3, 4)), linear_input(lib, 3)),
    "new weight_norm, no dimension": lambda lib: (
        lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(3, 4), dim=None),
        linear_input(lib, 3)),
    "new weight_norm, conv": lambda lib: (
        lib.nn.utils.parametrizations.weight_norm(lib.nn.Conv2d(2, 3, 2), dim=1), picture(lib)),
    "new spectral_norm": lambda lib: (
        lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(3, 4)), linear_input(lib, 3)),
    "new spectral_norm, conv": lambda lib: (
        lib.nn.utils.parametrizations.spectral_norm(lib.nn.Conv2d(2, 3, 2), n_power_iterations=3),
        picture(lib)),
    "new spectral_norm, transposed": lambda lib: (
        lib.nn.utils.parametrizations.spectral_norm(lib.nn.ConvTranspose2d(2, 3, 2)),
        picture(lib)),
    "new spectral_norm, vector": lambda lib: (
        lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(3, 4), "bias"),
        linear_input(lib, 3)),
    "orthogonal, square": lambda lib: (
        lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(3, 3)), linear_input(lib, 3)),
    "orthogonal, tall": lambda lib: (
        lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(3, 5)), linear_input(lib, 3)),
    "orthogonal, wide": lambda lib: (
        lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(5, 3)), linear_input(lib, 5)),
    "orthogonal, cayley": lambda lib: (
        lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(3, 4), orthogonal_map="cayley"),
        linear_input(lib, 3)),
    "orthogonal, no base": lambda lib: (
        lib.nn.utils.parametrizations.orthogonal(
            lib.nn.Linear(4, 3), orthogonal_map="householder", use_trivialization=False),
        linear_input(lib, 4)),
    "old weight_norm": lambda lib: (
        lib.nn.utils.weight_norm(lib.nn.Linear(3, 4)), linear_input(lib, 3)),
    "old weight_norm, no dimension": lambda lib: (
        lib.nn.utils.weight_norm(lib.nn.Linear(3, 4), dim=None), linear_input(lib, 3)),
    "old spectral_norm": lambda lib: (
        lib.nn.utils.spectral_norm(lib.nn.Linear(3, 4)), linear_input(lib, 3)),
    "old spectral_norm, conv": lambda lib: (
        lib.nn.utils.spectral_norm(lib.nn.Conv2d(2, 3, 2), n_power_iterations=2), picture(lib)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_training_with_a_computed_weight(kind: str) -> None:
    compare(lambda lib: steps(lib, *KINDS[kind](lib)))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("old")])
def test_removing_a_parametrization(kind: str) -> None:
    def play(lib: Any) -> list[Any]:
        module, x = KINDS[kind](lib)
        name = "bias" if "vector" in kind else "weight"
        before = module(x)
        lib.nn.utils.parametrize.remove_parametrizations(module, name)
        kept = [type(module).__name__, module, list(module.state_dict()), before, module(x)]
        return [*kept, type(getattr(module, name)).__name__]

    compare(play)


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm"])
def test_removing_an_old_norm(kind: str) -> None:
    def play(lib: Any) -> list[Any]:
        utils, x = lib.nn.utils, linear_input(lib, 3)
        module = getattr(utils, kind)(lib.nn.Linear(3, 4))
        module(x)
        state = module.state_dict()
        other = getattr(utils, kind)(lib.nn.Linear(3, 4))
        loaded = other.load_state_dict(state)
        same = [other.eval()(x), module.eval()(x), loaded, dict(state._metadata)]
        getattr(utils, f"remove_{kind}")(module)
        tables = (module._forward_pre_hooks, module._state_dict_hooks)
        return [*same, module(x), list(module.state_dict()), *[len(each) for each in tables]]

    compare(play)


def test_old_weight_norm_loads_into_the_new_one() -> None:
    def play(lib: Any) -> list[Any]:
        old = lib.nn.utils.weight_norm(lib.nn.Linear(3, 4))
        new = lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(3, 4))
        x = linear_input(lib, 3)
        return [new.load_state_dict(old.state_dict()), new(x), old(x)]

    compare(play)


def own_parametrizations(lib: Any, log: Log) -> None:
    nn, parametrize = lib.nn, lib.nn.utils.parametrize

    class Symmetric(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x: Any) -> Any:
            return x.triu()

    class Doubled(nn.Module):
        def forward(self, x: Any) -> Any:
            log("computed")
            return x * 2

    class Sum(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y

        def right_inverse(self, x: Any) -> Any:
            return x - 1, lib.ones_like(x)

    module = nn.Linear(2, 2)
    with lib.no_grad():
        module.weight.copy_(lib.arange(4.0).reshape(2, 2))
    weight = module.weight
    log(parametrize.is_parametrized(module), parametrize.type_before_parametrizations(module)
        is nn.Linear)
    parametrize.register_parametrization(module, "weight", Symmetric())
    log(module.weight, module, isinstance(module, nn.Linear), type(module).__name__)
    log(module.parametrizations.weight.original is weight, list(module.state_dict()))
    parametrize.register_parametrization(module, "weight", Doubled())
    log(module.weight, parametrize.is_parametrized(module, "weight"))
    with parametrize.cached():
        log(module.weight is module.weight, module.weight)
    log(parametrize.is_parametrized(module, "bias"))
    log.tries(lambda: setattr(module, "weight", lib.ones(2, 2)))
    log.tries(lambda: parametrize.register_parametrization(module, "none", Doubled()))
    parametrize.remove_parametrizations(module, "weight", leave_parametrized=False)
    log(module.weight, module.weight is weight, module, type(module) is nn.Linear)
    parametrize.register_parametrization(module, "weight", Symmetric())
    module.weight = lib.tensor([[1.0, 2.0], [2.0, 3.0]])
    log(module.weight, module.parametrizations.weight.original)
    other = nn.Linear(2, 2)
    parametrize.transfer_parametrizations_and_params(module, other)
    log(other.weight, other.parametrizations.weight.original is weight)
    several = nn.Linear(2, 2)
    parametrize.register_parametrization(several, "weight", Sum())
    log(several, [name for name, _ in several.named_parameters()])
    several.weight = lib.full((2, 2), 4.0)
    log(several.weight, several.parametrizations.weight.original1)
    log.tries(lambda: parametrize.remove_parametrizations(several, "weight", False))
    parametrize.remove_parametrizations(several, "weight")
    log(several.weight, type(several.weight).__name__)
    nested = nn.Linear(2, 2)
    parametrize.register_parametrization(nested, "weight", Doubled())
    chain = nested.parametrizations.weight
    parametrize.register_parametrization(chain, "original", Symmetric())
    log(nested.weight, chain.original, nested, list(nested.state_dict()))
    parametrize.remove_parametrizations(chain, "original", leave_parametrized=False)
    parametrize.remove_parametrizations(nested, "weight")
    log(type(chain).__name__, nested)
    norm = nn.BatchNorm1d(2)
    parametrize.register_parametrization(norm, "running_mean", Doubled())
    log(norm.running_mean, list(norm.state_dict()))
    log(list(norm.parametrizations.running_mean._buffers))


def wrong_parametrizations(lib: Any, log: Log) -> None:
    nn, parametrize = lib.nn, lib.nn.utils.parametrize

    class Made(nn.Module):
        def __init__(self, forward: Any, inverse: Any = None) -> None:
            super().__init__()
            self.forward = forward
            if inverse is not None:
                self.right_inverse = inverse

    def keep(x: Any) -> Any:
        return x

    for parametrization in (
        Made(lambda x: x.sum()), Made(lambda x: x.double()), Made(lambda x: 3),
        Made(keep, lambda x: 3), Made(keep, lambda x: x.double()), Made(keep, lambda x: (x, 3)),
    ):  # fmt: skip
        module = nn.Linear(2, 2)
        log.tries(lambda: parametrize.register_parametrization(
            module, "weight", parametrization))  # noqa: B023
        log(type(module).__name__)
        parametrize.register_parametrization(module, "weight", Made(keep, keep))
        log.tries(lambda: parametrize.register_parametrization(
            module, "weight", parametrization))  # noqa: B023
    module = nn.Linear(2, 2)
    parametrize.register_parametrization(module, "weight", Made(lambda x: x.sum()), unsafe=True)
    log(module.weight.shape)
    log.tries(lambda: parametrize.remove_parametrizations(module, "bias"))
    log.tries(lambda: parametrize.ParametrizationList([], module.bias))
    norms = nn.utils.parametrizations
    log.tries(lambda: norms.spectral_norm(nn.Linear(2, 2), "none"))
    log.tries(lambda: norms.spectral_norm(nn.Linear(2, 2), n_power_iterations=0))
    log.tries(lambda: norms.spectral_norm(nn.Linear(2, 2), dim=5))
    log.tries(lambda: norms.orthogonal(nn.Linear(2, 2), "bias"))
    log.tries(lambda: norms.orthogonal(nn.Linear(2, 2), orthogonal_map="none"))
    cayley = norms.orthogonal(nn.Linear(2, 2), orthogonal_map="cayley", use_trivialization=False)
    log.tries(lambda: setattr(cayley, "weight", lib.eye(2)))
    log.tries(lambda: nn.utils.remove_weight_norm(nn.Linear(2, 2)))
    log.tries(lambda: nn.utils.remove_spectral_norm(nn.Linear(2, 2)))
    log.tries(lambda: nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(2, 2))))
    log.tries(lambda: nn.utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0))


SCENARIOS = [own_parametrizations, wrong_parametrizations]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_both_say_the_same(scenario: Any) -> None:
    ours, theirs = transcript(thunk, scenario), transcript(torch, scenario)
    assert ours == theirs


@pytest.mark.parametrize("norm_type", [1, 2, 3.5, float("inf"), 0])
def test_clipping(norm_type: float) -> None:
    def play(lib: Any) -> list[Any]:
        module = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Linear(4, 2, dtype=lib.float64))
        module[0].register_forward_hook(lambda _, args, output: output.double())
        module(linear_input(lib, 3)).square().sum().backward()
        utils, frozen = lib.nn.utils, lib.nn.Parameter(lib.ones(2))
        parameters = [*module.parameters(), frozen]
        seen = [utils.get_total_norm([each.grad for each in module.parameters()], norm_type)]
        seen.append(utils.clip_grad_norm_(iter(parameters), 0.5, norm_type))
        seen += [each.grad for each in module.parameters()]
        seen.append(utils.clip_grad_norm_(parameters, 1000.0, norm_type, foreach=True))
        utils.clip_grad_value_(parameters, 0.01)
        seen += [each.grad for each in module.parameters()]
        seen.append(utils.clip_grad_norm_(module[0].weight, 1e-3, norm_type))
        return [*seen, frozen.grad, utils.clip_grad_norm_([], 1.0)]

    compare(play)


def test_clipping_refuses_what_is_not_finite_only_if_asked() -> None:
    def play(lib: Any, log: Log) -> None:
        parameter = lib.nn.Parameter(lib.ones(2))
        parameter.grad = lib.tensor([float("inf"), 1.0])
        log.tries(lambda: lib.nn.utils.clip_grad_norm_(parameter, 1.0, error_if_nonfinite=True))
        log(parameter.grad, lib.nn.utils.clip_grad_norm_(parameter, 1.0), parameter.grad)
        log(lib.nn.utils.clip_grad_norm_((each for each in ()), 1.0))

    assert transcript(thunk, play) == transcript(torch, play)


def test_vectors_and_skipped_initialisation() -> None:
    def play(lib: Any, log: Log) -> None:
        utils, module = lib.nn.utils, lib.nn.Linear(2, 2)
        vector = utils.parameters_to_vector(module.parameters())
        log(vector.shape, vector.requires_grad)
        utils.vector_to_parameters(lib.arange(6.0), module.parameters())
        log(module.weight, module.bias, module.weight.is_leaf)
        log.tries(lambda: utils.vector_to_parameters([1.0], module.parameters()))
        skipped = utils.skip_init(lib.nn.Linear, 2, 3, bias=False, dtype=lib.float64)
        log(skipped, skipped.weight.shape, skipped.weight.dtype, str(skipped.weight.device))
        log(lib.rand(1))
        log.tries(lambda: utils.skip_init(lib.nn.ReLU))

    assert transcript(thunk, play) == transcript(torch, play)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_fusion(affine: bool, bias: bool) -> None:
    def play(lib: Any) -> list[Any]:
        utils = lib.nn.utils
        conv = lib.nn.Conv2d(2, 3, 2, bias=bias)
        across = lib.nn.ConvTranspose2d(2, 3, 2, bias=bias)
        linear = lib.nn.Linear(4, 3, bias=bias)
        norms = [lib.nn.BatchNorm2d(3, affine=affine), lib.nn.BatchNorm1d(3)]
        for norm in norms:
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2.0)
            norm.eval()
        seen = []
        for layer, norm, x, options in (
            (conv, norms[0], picture(lib), {}), (across, norms[0], picture(lib), {"transpose": 1}),
        ):  # fmt: skip
            fused = utils.fuse_conv_bn_eval(layer.eval(), norm, **options)
            seen += [fused(x), norm(layer(x)), fused.weight.requires_grad]
        fused = utils.fuse_linear_bn_eval(linear.eval(), norms[1])
        seen += [fused(linear_input(lib, 4)), norms[1](linear(linear_input(lib, 4)))]
        return seen

    compare(play)
