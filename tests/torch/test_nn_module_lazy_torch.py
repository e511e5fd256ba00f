"""Lazy modules against PyTorch: the same texts, weights, state dicts and errors at every stage."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest
import torch

import thunk
from transcripts import Log, transcript

# Lazy class, its arguments, the shape of a first input.
KINDS: list[tuple[str, tuple[Any, ...], tuple[int, ...]]] = [
    ("LazyLinear", (4,), (2, 3)), ("LazyLinear", (4, False), (3,)),
    ("LazyConv1d", (4, 3), (2, 3, 8)), ("LazyConv2d", (4, 3), (3, 8, 8)),
    ("LazyConv2d", (4, (2, 3), 2, 1, 1, 2, False), (2, 6, 8, 8)),
    ("LazyConv3d", (2, 2), (1, 3, 4, 4, 4)), ("LazyConvTranspose1d", (4, 3), (2, 3, 8)),
    ("LazyConvTranspose2d", (4, 3, 2, 1, 1, 2), (2, 6, 5, 5)),
    ("LazyConvTranspose3d", (2, 2), (1, 3, 3, 3, 3)), ("LazyBatchNorm1d", (), (5, 3)),
    ("LazyBatchNorm2d", (1e-3, 0.2), (2, 3, 2, 2)), ("LazyBatchNorm3d", (), (2, 3, 2, 2, 2)),
    ("LazyBatchNorm2d", (1e-5, None, False, True), (2, 3, 2, 2)),
    ("LazyInstanceNorm1d", (), (2, 3, 4)), ("LazyInstanceNorm2d", (), (2, 3, 4, 4)),
    ("LazyInstanceNorm3d", (), (2, 3, 4, 2, 2)),
]  # fmt: skip


def picture(lib: Any, shape: tuple[int, ...]) -> Any:
    return lib.sin(lib.arange(float(math.prod(shape)))).reshape(shape)


def deep_copied(module: Any) -> Any:
    """A copy of a module without uninitialised buffers, which PyTorch refuses to copy."""
    module.norm = module.norm.cls_to_become(5)
    return copy.deepcopy(module)


def life(lib: Any, log: Log, kind: tuple[str, tuple[Any, ...], tuple[int, ...]]) -> Any:
    """One lazy module from its birth to after its first call."""
    name, arguments, shape = kind
    module = getattr(lib.nn, name)(*arguments)
    log(module, module.state_dict(), module.has_uninitialized_params(), type(module).__name__)
    log([type(each).__name__ for each in module.parameters()], len(module._forward_pre_hooks))
    log(hasattr(module, "_load_hook"), hasattr(module, "_initialize_hook"))
    parameters = list(module.parameters())
    result = module(picture(lib, shape))
    log(module, type(module).__name__, len(module._forward_pre_hooks), tuple(result.shape))
    log(hasattr(module, "_load_hook"), hasattr(module, "_initialize_hook"))
    log(all(old is new for old, new in zip(parameters, module.parameters(), strict=True)))
    log([type(each).__name__ for each in parameters], lib.rand(2))
    return module, result


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[0])
def test_first_call(kind: Any) -> None:
    modules: list[Any] = []

    def play(lib: Any, log: Log) -> None:
        modules.append(life(lib, log, kind))

    assert transcript(thunk, play) == transcript(torch, play)
    (ours, our_result), (theirs, their_result) = modules
    expected = theirs.state_dict()
    assert list(ours.state_dict()) == list(expected)
    for name, value in ours.state_dict().items():
        torch.testing.assert_close(torch.tensor(value.tolist()), expected[name], rtol=1e-5, atol=0)
    found = torch.tensor(our_result.tolist())
    torch.testing.assert_close(found, their_result.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[0])
def test_one_seed_gives_the_weights_of_the_eager_module(kind: Any) -> None:
    name, arguments, shape = kind
    thunk.manual_seed(3)
    lazy = getattr(thunk.nn, name)(*arguments)
    lazy(picture(thunk, shape))
    spatial = int(name[-2]) if name.endswith("d") else 0
    channels = shape[-1] if not spatial else shape[len(shape) - spatial - 1]
    if name.startswith(("LazyBatch", "LazyInst")):
        channels = shape[1]
    thunk.manual_seed(3)
    eager = getattr(thunk.nn, name.removeprefix("Lazy"))(channels, *arguments)
    for key, value in eager.named_parameters():
        assert thunk.equal(lazy.get_parameter(key), value)


def uninitialised(lib: Any, log: Log) -> None:
    nn = lib.nn
    for each in (
        nn.UninitializedParameter(), nn.UninitializedParameter(requires_grad=False),
        nn.UninitializedBuffer(), nn.UninitializedParameter(dtype=lib.float64, device="meta"),
    ):  # fmt: skip
        log(each, each.dtype, str(each.device), each.requires_grad, each.is_leaf, each.grad)
        log(isinstance(each, nn.Parameter), isinstance(each, nn.Buffer), each.size())
        log(nn.parameter.is_lazy(each), each.is_floating_point(), each.double().dtype)
        log.tries(lambda each=each: each.shape)
        log.tries(each.share_memory_)
        twin = pickle.loads(pickle.dumps(each))
        log(twin, twin.requires_grad)
        if isinstance(each, nn.Parameter):  # PyTorch refuses to copy buffers
            log(copy.deepcopy(each), copy.deepcopy(each).dtype)
        each.data = each.data.to(lib.float16)
        each.materialize((2, 3))
        log(type(each).__name__, each.shape, each.dtype, each.requires_grad)
    parameter = nn.UninitializedParameter()
    parameter.materialize((2,), dtype=lib.float64)
    log(parameter.dtype, str(parameter.device), nn.parameter.is_lazy(parameter))


def refused_operations(lib: Any, log: Log) -> None:
    parameter = lib.nn.UninitializedParameter()
    for call in (
        lambda: parameter + 1, lambda: 1 + parameter, lambda: lib.add(parameter, 1),
        lambda: lib.stack([parameter]), lambda: parameter[0], lambda: len(parameter),
        lambda: float(parameter), lambda: parameter.numel(), lambda: parameter.dim(),
        lambda: parameter.sum(), lambda: parameter.zero_(), lambda: parameter == 1,
        lambda: parameter.clone(), lambda: parameter.tolist(), lambda: parameter.item(),
        lambda: lib.nn.functional.linear(lib.ones(2), parameter), lambda: parameter.numpy(),
        lambda: lib.zeros_like(parameter), lambda: parameter.stride(), lambda: parameter.view(-1),
    ):  # fmt: skip
        try:
            log(call())
        except ValueError as error:
            log(str(error).partition("parameter")[0])


def state_dicts(lib: Any, log: Log) -> None:
    """All four combinations of what is loaded and what it is loaded into."""
    nn = lib.nn
    ready = nn.LazyLinear(4)
    ready(lib.ones(2, 3))
    waiting = nn.LazyLinear(4)
    parameters = list(waiting.parameters())
    log(waiting.load_state_dict(nn.LazyLinear(4).state_dict()), waiting)
    log(waiting.load_state_dict(ready.state_dict()), waiting.has_uninitialized_params())
    log(type(waiting.weight).__name__, waiting.weight.shape)
    log(all(old is new for old, new in zip(parameters, waiting.parameters(), strict=True)))
    log(lib.equal(waiting.weight, ready.weight), waiting(lib.ones(2, 3)), waiting)
    log(ready.load_state_dict(waiting.state_dict()))
    log.tries(lambda: ready.load_state_dict(nn.LazyLinear(4).state_dict()))
    log.tries(lambda: nn.LazyLinear(4).load_state_dict({}))
    log.tries(lambda: nn.LazyLinear(4).load_state_dict({"weight": lib.ones(4, 3)}, strict=False))
    eager = nn.Linear(3, 4)
    log(nn.LazyLinear(4).load_state_dict(eager.state_dict(), assign=True))
    log(eager.load_state_dict(ready.state_dict()))
    norm, running = nn.LazyBatchNorm1d(), nn.BatchNorm1d(3)
    running.running_mean.fill_(2.0)
    log(norm.load_state_dict(running.state_dict()), norm.running_mean, norm.num_batches_tracked)
    log(norm.eval()(lib.ones(2, 3)), type(norm).__name__)


def whole_networks(lib: Any, log: Log) -> None:
    nn = lib.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.LazyLinear(5)
            self.norm = nn.LazyBatchNorm1d()
            self.last = nn.LazyLinear(1, dtype=lib.float64)

        def forward(self, x: Any) -> Any:
            return self.last(self.norm(self.first(x)).double())

    module = Network()
    log(module, module.double().first.weight.dtype, module.half().last.weight.dtype)
    module.float()
    module.last.double()
    line = nn.Sequential(nn.LazyLinear(3), nn.LazyLinear(2))
    restored = pickle.loads(pickle.dumps(line))
    log(restored, restored(lib.ones(2, 3)).shape, restored, line)
    log(lib.equal(line(lib.ones(2, 3)), restored(lib.ones(2, 3))))
    twin = deep_copied(module)
    for each in (module, twin):
        weight = each.first.weight
        lib.manual_seed(4)
        each(lib.ones(2, 3))
        log(each, each.first.weight is weight, weight, each.last.weight.dtype)
    log(twin.first.weight is not module.first.weight, copy.deepcopy(module).first.weight)
    before = [id(each) for each in module.parameters()]
    module.load_state_dict(twin.state_dict())
    log(before == [id(each) for each in module.parameters()])


def other_hooks(lib: Any, log: Log) -> None:
    nn = lib.nn
    module = nn.LazyLinear(2)
    module.register_forward_pre_hook(lambda owner, args: log("after", type(owner).__name__))
    module.register_forward_pre_hook(lambda *_: log("before"), prepend=True)
    module.register_forward_hook(lambda owner, *_: log("last", type(owner).__name__))
    module(lib.ones(1, 3))
    log(module, len(module._forward_pre_hooks))
    wide = nn.LazyLinear(2)
    wide.register_forward_pre_hook(
        lambda _, args: (lib.cat([args[0], args[0]], -1),), prepend=True
    )
    log(wide(lib.ones(1, 3)).shape, wide)
    named = nn.LazyLinear(2)
    log(named(input=lib.ones(1, 3)).shape, named)
    both = nn.LazyBilinear(2) if hasattr(nn, "LazyBilinear") else nn.Bilinear(3, 4, 2)
    log(both(lib.ones(1, 3), input2=lib.ones(1, 4)).shape, both)


def mistakes(lib: Any, log: Log) -> None:
    nn = lib.nn

    class Empty(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def forward(self, x: Any) -> Any:
            return x

    class Half(Empty):
        def initialize_parameters(self, x: Any) -> None:
            self.ready = True

    class Whole(Empty):
        def initialize_parameters(self, x: Any) -> None:
            self.weight.materialize(x.shape)

    log.tries(lambda: Empty()(lib.ones(1)))
    log.tries(lambda: Half()(lib.ones(1)))
    whole = Whole()
    log(whole(lib.ones(2)), type(whole).__name__, whole.weight.shape, hasattr(whole, "_load_hook"))
    log.tries(lambda: nn.LazyConv2d(4, 3)(lib.ones(3)))
    log.tries(lambda: nn.LazyConv2d(4, 3, groups=2)(lib.ones(1, 3, 5, 5)))
    log.tries(lambda: nn.LazyLinear(4)._replicate_for_data_parallel())
    log.tries(lambda: nn.LazyLinear(4).share_memory())
    log.tries(lambda: nn.utils.weight_norm(nn.LazyLinear(4)))
    log.tries(lambda: nn.utils.spectral_norm(nn.LazyLinear(4)))
    waiting = nn.LazyLinear(4)
    with pytest.raises(RuntimeError, match="must have the same dtype"):
        waiting(lib.ones(2, 3, dtype=lib.int64))
    log(waiting)


SCENARIOS = [
    uninitialised, refused_operations, state_dicts, whole_networks, other_hooks, mistakes,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_both_say_the_same(scenario: Any) -> None:
    ours, theirs = transcript(thunk, scenario), transcript(torch, scenario)
    assert ours == theirs
