"""Lazy modules beyond PyTorch: what its users asked for and did not get."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest

import thunk
from thunk import lazy as engine
from thunk import nn
from thunk.lazy.eager import execution
from thunk.nn.modules.lazy import LazyModuleMixin
from thunk.nn.parameter import is_lazy

# Lazy class, arguments, shape of an input, text once it is initialised.
KINDS: list[tuple[str, tuple[Any, ...], tuple[int, ...], str]] = [
    ("LazyLinear", (4,), (2, 3), "Linear(in_features=3, out_features=4, bias=True)"),
    ("LazyConv1d", (4, 2), (2, 3, 5), "Conv1d(3, 4, kernel_size=(2,), stride=(1,))"),
    ("LazyConv2d", (4, 2), (2, 3, 5, 5), "Conv2d(3, 4, kernel_size=(2, 2), stride=(1, 1))"),
    ("LazyConv3d", (4, 1), (1, 3, 2, 2, 2),
     "Conv3d(3, 4, kernel_size=(1, 1, 1), stride=(1, 1, 1))"),
    ("LazyConvTranspose1d", (4, 2), (2, 3, 5),
     "ConvTranspose1d(3, 4, kernel_size=(2,), stride=(1,))"),
    ("LazyConvTranspose2d", (4, 2), (2, 3, 5, 5),
     "ConvTranspose2d(3, 4, kernel_size=(2, 2), stride=(1, 1))"),
    ("LazyConvTranspose3d", (4, 1), (1, 3, 2, 2, 2),
     "ConvTranspose3d(3, 4, kernel_size=(1, 1, 1), stride=(1, 1, 1))"),
    ("LazyBatchNorm1d", (), (4, 3), "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, "
     "bias=True, track_running_stats=True)"),
    ("LazyBatchNorm2d", (), (2, 3, 2, 2), "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, "
     "bias=True, track_running_stats=True)"),
    ("LazyBatchNorm3d", (), (2, 3, 2, 2, 1), "BatchNorm3d(3, eps=1e-05, momentum=0.1, "
     "affine=True, bias=True, track_running_stats=True)"),
    ("LazyInstanceNorm1d", (), (3, 5), "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=True, "
     "bias=True, track_running_stats=True)"),
    ("LazyInstanceNorm2d", (), (3, 5, 5), "InstanceNorm2d(3, eps=1e-05, momentum=0.1, "
     "affine=True, bias=True, track_running_stats=True)"),
    ("LazyInstanceNorm3d", (), (2, 3, 2, 2, 2), "InstanceNorm3d(3, eps=1e-05, momentum=0.1, "
     "affine=True, bias=True, track_running_stats=True)"),
    ("LazyLayerNorm", (), (2, 3, 4), "LayerNorm((4,), eps=1e-05, elementwise_affine=True, "
     "bias=True)"),
    ("LazyLayerNorm", (2,), (2, 3, 4), "LayerNorm((3, 4), eps=1e-05, elementwise_affine=True, "
     "bias=True)"),
    ("LazyGroupNorm", (3,), (2, 6, 4), "GroupNorm(3, 6, eps=1e-05, affine=True, bias=True)"),
]  # fmt: skip
NAMES = [f"{name} {arguments}" for name, arguments, _, _ in KINDS]


def picture(shape: tuple[int, ...]) -> Any:
    return thunk.sin(thunk.arange(float(math.prod(shape)))).reshape(shape)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_loading_initialises(kind: Any) -> None:
    """An initialised state makes the module an ordinary one, and its text right."""
    name, arguments, shape, text = kind
    trained = getattr(nn, name)(*arguments)
    expected = trained(picture(shape))
    trained.load_state_dict(trained.state_dict())
    waiting = getattr(nn, name)(*arguments)
    parameters = list(waiting.parameters())
    waiting.load_state_dict(trained.state_dict())
    assert repr(waiting) == repr(trained) == text
    assert type(waiting) is type(trained)
    assert not waiting._forward_pre_hooks
    assert not waiting._load_state_dict_pre_hooks
    assert all(
        old is new for old, new in zip(parameters, waiting.parameters(), strict=True)
    )
    assert waiting.eval()(picture(shape)).shape == expected.shape
    assert thunk.equal(waiting(picture(shape)), trained.eval()(picture(shape)))


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_copies_and_pickles_before_the_first_call(kind: Any) -> None:
    """Also of modules with uninitialised buffers."""
    name, arguments, shape, text = kind
    module = nn.Sequential(getattr(nn, name)(*arguments, dtype=thunk.float64))
    x = picture(shape).double()
    results = []
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), module):
        assert twin[0].has_uninitialized_params()
        thunk.manual_seed(1)
        results.append(twin(x))
        assert repr(twin[0]) == text
        assert {each.dtype for each in twin.parameters()} == {thunk.float64}
    assert thunk.equal(results[0], results[1])
    assert thunk.equal(results[0], results[2])


def test_an_optimizer_built_before_the_first_call_trains() -> None:
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(1))
    optimizer = thunk.optim.SGD(model.parameters(), lr=0.1)
    x = picture((5, 3))
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_a_dry_run_computes_nothing() -> None:
    """Shapes come from the trace: every result is still pending when the run is over."""
    x, seen = picture((4, 3, 8, 8)), []
    with execution(lazy=True):
        model = nn.Sequential(
            nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(5),
            nn.LazyLayerNorm(), nn.LazyLinear(2),
        )  # fmt: skip
        for layer in model:
            layer.register_forward_hook(lambda _, args, output: seen.append(output))
        model(x)
        assert len(seen) == 7
        assert all(each._node is not None for each in seen)
        assert not any(is_lazy(each) for each in model.parameters())
        result = seen[-1].tolist()
    assert thunk.allclose(thunk.tensor(result), model(x))


def test_a_module_that_changed_its_class_is_not_compiled_again() -> None:
    x = picture((4, 3, 8, 8))
    with execution(lazy=True):
        engine.mark_step(wait=True)
        model = nn.Sequential(
            nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(5)
        )
        model(x).sum().item()
        with engine.forbid_compile():
            for _ in range(3):
                model(x).sum().item()


@pytest.mark.parametrize("name", [
    "ASGD", "Adadelta", "Adam", "AdamW", "Adamax", "LBFGS", "NAdam", "RAdam", "RMSprop", "Rprop",
    "SGD",
])  # fmt: skip
def test_every_optimizer_can_be_built_before_the_first_call(name: str) -> None:
    module = nn.LazyLinear(3)
    optimizer = getattr(thunk.optim, name)(module.parameters())
    loss = module(thunk.ones(1, 2)).square().sum()
    loss.backward()
    before = module.weight.detach().clone()
    optimizer.step(lambda: loss)
    assert not thunk.equal(module.weight, before)


def test_an_optimizer_with_state_from_the_start_says_why_not() -> None:
    with pytest.raises(ValueError, match="uninitialized parameter"):
        thunk.optim.Adagrad(nn.LazyLinear(3).parameters())


def test_the_count_of_an_uninitialised_parameter_is_a_clear_error() -> None:
    parameter = nn.UninitializedParameter()
    with pytest.raises(ValueError, match=r"uninitialized parameter.*call `forward`"):
        parameter.numel()
    with pytest.raises(ValueError, match="uninitialized parameter"):
        sum(each.numel() for each in nn.LazyLinear(3).parameters())


def test_a_copied_buffer_keeps_what_is_known() -> None:
    buffer = nn.UninitializedBuffer(dtype=thunk.float64, persistent=False)
    twin = copy.deepcopy(buffer)
    assert is_lazy(twin)
    assert twin is not buffer
    assert twin.dtype is thunk.float64
    assert twin.persistent is False
    memo: dict[int, Any] = {}
    assert copy.deepcopy([buffer, buffer], memo)[0] is memo[id(buffer)]


def test_a_bad_first_input_leaves_the_module_lazy() -> None:
    norm = nn.LazyBatchNorm2d()
    with pytest.raises(ValueError, match="expected 4D input"):
        norm(thunk.ones(3, 4, 4))
    group = nn.LazyGroupNorm(3)
    with pytest.raises(ValueError, match=r"num_channels \(4\) must be divisible by num_groups"):
        group(thunk.ones(2, 4))
    layer = nn.LazyLayerNorm(3)
    with pytest.raises(RuntimeError, match="at least 3 dimensions, got 2"):
        layer(thunk.ones(2, 4))
    conv = nn.LazyConv2d(5, 3, groups=2)
    with pytest.raises(ValueError, match="out_channels must be divisible by groups"):
        conv(thunk.ones(1, 4, 5, 5))
    assert all(each.has_uninitialized_params() for each in (norm, group, layer, conv))
    norm(thunk.ones(2, 3, 4, 4))
    group(thunk.ones(2, 3))
    assert repr(group) == "GroupNorm(3, 3, eps=1e-05, affine=True, bias=True)"
    with pytest.raises(ValueError, match="normalized_dims of at least 1"):
        nn.LazyLayerNorm(0)


def test_norms_without_parameters_still_take_their_sizes() -> None:
    norm = nn.LazyInstanceNorm2d(affine=False, track_running_stats=False)
    norm(picture((2, 3, 4, 4)))
    assert norm.num_features == 3
    layer = nn.LazyLayerNorm(elementwise_affine=False)
    layer(picture((2, 3)))
    assert layer.normalized_shape == (3,)
    group = nn.LazyGroupNorm(3, bias=False)
    group(picture((2, 3)))
    assert [name for name, _ in group.named_parameters()] == ["weight"]


def test_same_results_as_the_eager_norms() -> None:
    x = picture((2, 4, 3))
    pairs = [
        (nn.LazyLayerNorm(2), nn.LayerNorm((4, 3))), (nn.LazyGroupNorm(2), nn.GroupNorm(2, 4)),
    ]  # fmt: skip
    for lazy, eager in pairs:
        assert thunk.equal(lazy(x), eager(x))
        assert type(lazy) is type(eager)


def test_an_own_lazy_module_that_says_its_sizes() -> None:
    class Scale(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.size = size
            self.weight = nn.Parameter(thunk.ones(size))

        def forward(self, x: Any, *, power: int) -> Any:
            return x**power * self.weight

        def extra_repr(self) -> str:
            return f"{self.size}"

    class LazyScale(LazyModuleMixin, Scale):
        cls_to_become = Scale

        def __init__(self) -> None:
            super().__init__(0)
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x: Any, *, power: int) -> None:
            self.size = x.shape[-1] + power
            self.weight.materialize((x.shape[-1],))
            nn.init.ones_(self.weight)

        def sizes_from_parameters(self) -> bool:
            self.size = self.weight.shape[0]
            return True

    called = LazyScale()
    assert called(thunk.full((3,), 2.0), power=2).tolist() == [4.0, 4.0, 4.0]
    assert repr(called) == "Scale(5)"
    loaded = LazyScale()
    loaded.load_state_dict(called.state_dict())
    assert repr(loaded) == "Scale(3)"


def test_a_size_may_be_a_number() -> None:
    parameter = nn.UninitializedParameter()
    parameter.materialize(10)
    assert parameter.shape == (10,)


def test_a_loaded_half_stays_lazy() -> None:
    module = nn.LazyLinear(4)
    module.load_state_dict({"weight": thunk.ones(4, 3)}, strict=False)
    assert not is_lazy(module.weight)
    assert is_lazy(module.bias)
    assert type(module) is nn.LazyLinear
    with pytest.raises(RuntimeError, match="uninitialized parameters can't be used"):
        module._replicate_for_data_parallel()


def test_nothing_is_drawn_before_the_first_call() -> None:
    thunk.manual_seed(0)
    expected = thunk.rand(2).tolist()
    thunk.manual_seed(0)
    nn.LazyLinear(4), nn.LazyConv2d(4, 3), nn.LazyBilinear(2)
    assert thunk.rand(2).tolist() == expected


def test_bilinear_takes_both_sizes() -> None:
    module = nn.LazyBilinear(2)
    assert module(thunk.ones(1, 3), input2=thunk.ones(1, 4)).shape == (1, 2)
    assert repr(module) == "Bilinear(in1_features=3, in2_features=4, out_features=2, bias=True)"
    waiting = nn.LazyBilinear(2)
    waiting.load_state_dict(module.state_dict())
    assert repr(waiting) == repr(module)
    thunk.manual_seed(3)
    lazy = nn.LazyBilinear(2)
    lazy(thunk.ones(1, 3), thunk.ones(1, 4))
    thunk.manual_seed(3)
    assert thunk.equal(lazy.weight, nn.Bilinear(3, 4, 2).weight)
