"""The outside of the modules of `nn`, against torch: names, signatures, factories, refusals."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from tests.torch.layers import database, table
from tests.torch.layers.judge import Config, make, run, same_state, seed_everywhere, subject
from tests.torch.oracle.subject import calls, reference

import thunk

# Containers and lazy modules are judged in tests of their own.
OTHERS = {"Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList",
          "Sequential"}
NAMES = sorted(
    name for name in set(torch.nn.modules.__all__) - OTHERS if not name.startswith("Lazy")
)
# Bases of torch's modules that stand for something else than being of one kind.
NO_KIND = {"object", "Generic", "NonDynamicallyQuantizableLinear"}


def classes() -> list[str]:
    """Module classes whose constructors are PyTorch's own."""
    return [name for name in NAMES if inspect.isclass(getattr(torch.nn, name))]


@pytest.mark.parametrize("name", NAMES)
def test_a_class_is_where_torch_has_it(name: str) -> None:
    theirs, ours = getattr(torch.nn, name), getattr(thunk.nn, name)
    file = theirs.__module__.removeprefix("torch.")
    home = importlib.import_module(f"thunk.{file}")
    assert getattr(home, name) is ours
    assert ours.__module__ == f"thunk.{file}"
    assert ours.__qualname__ == theirs.__qualname__


@pytest.mark.parametrize("name", NAMES)
def test_a_class_is_of_the_kinds_that_torch_gives_it(name: str) -> None:
    theirs, ours = getattr(torch.nn, name), getattr(thunk.nn, name)
    expected = {base.__name__ for base in theirs.__mro__} - NO_KIND
    assert expected <= {base.__name__ for base in ours.__mro__}


@pytest.mark.parametrize("name", classes())
def test_arguments_have_torchs_names_order_and_defaults(name: str) -> None:
    for method in ("__init__", "forward", "from_pretrained"):
        theirs = getattr(getattr(torch.nn, name), method, None)
        if theirs is None or theirs is torch.nn.Module.forward:
            continue
        ours = getattr(getattr(thunk.nn, name), method)
        assert arguments(ours) == arguments(theirs), method


def arguments(function: Any) -> list[tuple[str, Any, Any]]:
    found = []
    for each in inspect.signature(function).parameters.values():
        default = each.default
        if callable(default) and default is not inspect.Parameter.empty:
            default = default.__name__
        if isinstance(default, float) and default == int(default):
            default = int(default)
        found.append((each.name, each.kind, default))
    return found


def sample_configs() -> list[Config]:
    """One config of every module."""
    found = {name: configs[0] for name, configs in table.configs(torch.float32).items()}
    for name in database.entries():
        for config in database.configs(name, torch.float32, True)[:1]:
            found.setdefault(name, config)
    return list(found.values())


def named(config: Config) -> str:
    return config.name


@pytest.mark.parametrize("config", sample_configs(), ids=named)
def test_factory_arguments_choose_dtype_and_device(config: Config) -> None:
    parameters = inspect.signature(getattr(torch.nn, config.name).__init__).parameters
    if "dtype" not in parameters and config.name not in TAKE_ANYTHING:
        assert not list(make(subject(), config).parameters()) or config.name in TAKE_A_LAYER
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = {**config.kwargs, "dtype": torch.float64}
        if "_weight" in wide:
            return
        seed_everywhere(subject())
        theirs = make(reference(), Config(config.name, config.args, wide))
        ours = make(subject(), Config(config.name, config.args, wide))
        same_state(subject(), theirs, ours)
        meta = make(subject(), Config(config.name, config.args, {**wide, "device": "meta"}))
    assert all(each.device.type == "meta" for each in meta.state_dict().values())


TAKE_A_LAYER = ("TransformerEncoder", "TransformerDecoder")
TAKE_ANYTHING = ("GRU", "LSTM", "RNN")


@pytest.mark.parametrize("config", sample_configs(), ids=named)
def test_a_module_survives_copies_and_pickles(config: Config) -> None:
    library = subject()
    module = make(library, config).float()
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert type(other) is type(module)
        assert repr(other) == repr(module)
        same_state(library, module, other)
    library.module.manual_seed(7)
    expected, _ = run(library, module, config)
    library.module.manual_seed(7)
    actual, _ = run(library, other, config)
    for left, right in zip(flat(expected), flat(actual), strict=True):
        np.testing.assert_array_equal(left.detach().numpy(), right.detach().numpy())


def flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [each for item in value for each in flat(item)]
    return [] if value is None else [value]


def refusals() -> list[Any]:
    found = []
    for name in sorted(database.entries()):
        for place, case in enumerate(database.errors(name, torch.float32)):
            found.append(pytest.param(*case, id=f"{name}-{place}"))
    return found


@pytest.mark.parametrize(("config", "when_made", "kind"), refusals())
def test_what_torch_refuses_is_refused(
    config: Config, when_made: bool, kind: type[Exception]
) -> None:
    for library in (reference(), subject()):
        if when_made:
            with pytest.raises(kind):
                make(library, config)
            continue
        module = make(library, config)
        with pytest.raises(kind):
            run(library, module, config)


# Constructors that torch refuses, and beginnings of what it says.
BAD_ARGUMENTS: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("Conv2d", (3, 4, 3), {"groups": 2}),
    ("Conv2d", (4, 3, 3), {"groups": 2}),
    ("Conv2d", (4, 4, 3), {"groups": 0}),
    ("Conv2d", (4, 4, 3), {"padding": "same", "stride": 2}),
    ("ConvTranspose2d", (4, 4, 3), {"padding_mode": "reflect"}),
    ("GroupNorm", (3, 4), {}),
    ("Dropout", (1.5,), {}),
    ("Dropout2d", (-0.1,), {}),
    ("Embedding", (4, 2), {"padding_idx": 4}),
    ("Embedding", (4, 2), {"padding_idx": -5}),
    ("Embedding", (4, 2), {"_weight": torch.ones(4, 3)}),
    ("EmbeddingBag", (4, 2), {"padding_idx": 4}),
    ("FractionalMaxPool2d", (2,), {}),
    ("FractionalMaxPool2d", (2,), {"output_size": 3, "output_ratio": 0.5}),
    ("FractionalMaxPool2d", (2,), {"output_ratio": 1.5}),
    ("FractionalMaxPool3d", (0,), {"output_size": 3}),
    ("Hardtanh", (1.0, -1.0), {}),
    ("HuberLoss", (), {"delta": "1"}),
    ("LSTM", (3, 4), {"proj_size": 4}),
    ("LSTM", (3, 4), {"proj_size": -1}),
    ("LSTM", (3, 4), {"dropout": 1.5}),
    ("LSTM", (3, 4), {"bias": 1}),
    ("LSTM", (3.0, 4), {}),
    ("GRU", (0, 4), {}),
    ("GRU", (3, 4), {"num_layers": 0}),
    ("GRU", (3, 4), {"proj_size": 2}),
    ("RNN", (3, 4), {"nonlinearity": "gelu"}),
    ("MultiMarginLoss", (3,), {}),
    ("MultiMarginLoss", (), {"weight": torch.ones(2, 2)}),
    ("MultiheadAttention", (5, 2), {}),
    ("MultiheadAttention", (0, 1), {}),
    ("TransformerEncoderLayer", (8, 2), {"activation": "tanh"}),
    ("TripletMarginLoss", (0.0,), {}),
    ("TripletMarginWithDistanceLoss", (), {"margin": -1.0}),
    ("Unflatten", (1, (2, 2.0)), {}),
    ("Unflatten", (1, 4), {}),
    ("AdaptiveLogSoftmaxWithLoss", (4, 10, [3, 3]), {}),
    ("AdaptiveLogSoftmaxWithLoss", (4, 10, []), {}),
    ("LinearCrossEntropyLoss", (4, 3), {"label_smoothing": 2.0}),
)  # fmt: skip


@pytest.mark.parametrize("name, args, kwargs", BAD_ARGUMENTS)
def test_bad_arguments_raise_what_torch_raises(name: str, args: Any, kwargs: Any) -> None:
    config = Config(name, args, kwargs)
    _, theirs = calls(make, reference(), config)
    _, ours = calls(make, subject(), config)
    assert theirs is not None
    assert type(ours) is type(theirs), repr(ours)
    assert str(ours) == str(theirs)


# Calls that torch refuses: the module, its arguments, the shapes of its inputs.
BAD_CALLS: tuple[tuple[str, tuple[Any, ...], tuple[tuple[int, ...], ...]], ...] = (
    ("BatchNorm1d", (4,), ((2, 4, 3, 3),)),
    ("BatchNorm2d", (4,), ((2, 4, 3),)),
    ("BatchNorm3d", (4,), ((2, 4, 3),)),
    ("SyncBatchNorm", (4,), ((4,),)),
    ("InstanceNorm1d", (4,), ((2, 4, 3, 3),)),
    ("InstanceNorm2d", (4, 1e-5, 0.1, True), ((2, 3, 3, 3),)),
    ("CircularPad1d", (1,), ((2, 3, 4, 4),)),
    ("CrossMapLRN2d", (3,), ((2, 3, 4),)),
    ("Softmax2d", (), ((2, 3),)),
    ("ConvTranspose2d", (2, 2, 3), ((2, 2),)),
    ("LSTM", (3, 4), ((2,),)),
    ("GRU", (3, 4), ((5, 2, 4),)),
    ("RNN", (3, 4), ((5, 2, 3, 1),)),
    ("LSTMCell", (3, 4), ((2, 2, 3),)),
    ("RNNCell", (3, 4), ((2, 2, 3),)),
    ("Transformer", (8, 2, 1, 1, 8), ((3, 2, 8), (4, 3, 8))),
    ("Transformer", (8, 2, 1, 1, 8), ((3, 2, 4), (4, 2, 4))),
)  # fmt: skip


@pytest.mark.parametrize("name, args, shapes", BAD_CALLS)
def test_bad_calls_raise_what_torch_raises(name: str, args: Any, shapes: Any) -> None:
    inputs = tuple(torch.ones(shape) for shape in shapes)
    config = Config(name, args, {}, inputs)
    errors = []
    for library in (reference(), subject()):
        errors.append(calls(run, library, make(library, config), config)[1])
    assert errors[0] is not None
    assert type(errors[1]) is type(errors[0]), repr(errors[1])
