"""State dicts and whole modules of every layer kind cross between PyTorch and Thunk."""

import io
import pickle
from typing import Any

import numpy
import pytest
import torch

import thunk

LAYERS: dict[str, str] = {
    "Linear": "3, 4", "Bilinear": "2, 3, 4", "Identity": "", "Conv1d": "2, 3, 3",
    "Conv2d": "2, 4, 3, groups=2", "Conv3d": "1, 2, 2, bias=False",
    "ConvTranspose1d": "2, 3, 3", "ConvTranspose2d": "2, 3, 3", "ConvTranspose3d": "1, 2, 2",
    "BatchNorm1d": "3", "BatchNorm2d": "3, momentum=None", "BatchNorm3d": "3, affine=False",
    "InstanceNorm1d": "3", "InstanceNorm2d": "3, affine=True, track_running_stats=True",
    "LayerNorm": "(3, 4)", "GroupNorm": "2, 4", "RMSNorm": "(4,)", "LocalResponseNorm": "2",
    "Embedding": "5, 3, padding_idx=1", "EmbeddingBag": "5, 3", "PReLU": "3",
    "RNN": "3, 4, 2", "LSTM": "3, 4, 2, bidirectional=True", "GRU": "3, 4, bias=False",
    "RNNCell": "3, 4", "LSTMCell": "3, 4", "GRUCell": "3, 4",
    "MultiheadAttention": "4, 2", "TransformerEncoderLayer": "4, 2, 8",
    "TransformerDecoderLayer": "4, 2, 8, activation='gelu'", "Transformer": "4, 2, 1, 1, 8",
    "ReLU": "inplace=True", "LeakyReLU": "0.1", "ELU": "", "GELU": "'tanh'", "Softmax": "dim=1",
    "LogSoftmax": "dim=-1", "Sigmoid": "", "Tanh": "", "Hardtanh": "", "SiLU": "", "Mish": "",
    "Softplus": "2.0", "GLU": "", "MaxPool2d": "2, 1", "AvgPool2d": "2",
    "AdaptiveAvgPool2d": "(1, None)", "MaxUnpool2d": "2", "LPPool2d": "2, 3", "Dropout": "0.3",
    "Dropout2d": "0.3", "AlphaDropout": "", "Flatten": "", "Unflatten": "1, (2, 3)",
    "PixelShuffle": "2", "PixelUnshuffle": "2", "ChannelShuffle": "2", "Upsample": "scale_factor=2",
    "UpsamplingNearest2d": "scale_factor=2", "ZeroPad2d": "1", "ReflectionPad2d": "1",
    "ReplicationPad1d": "1", "ConstantPad1d": "1, 0.5", "Fold": "(4, 4), 2", "Unfold": "2",
    "CrossEntropyLoss": "label_smoothing=0.1", "NLLLoss": "", "MSELoss": "", "L1Loss": "",
    "BCELoss": "", "BCEWithLogitsLoss": "", "KLDivLoss": "", "SmoothL1Loss": "", "HuberLoss": "",
    "CTCLoss": "", "TripletMarginLoss": "", "CosineSimilarity": "", "PairwiseDistance": "",
}  # fmt: skip


def made(library: Any, name: str, arguments: str) -> Any:
    return eval(f"nn.{name}({arguments})", {"nn": library.nn})


def model(library: Any) -> Any:
    """One of each kind, in every container, with tied weights and a buffer that is not kept."""
    library.manual_seed(0)
    nn = library.nn
    whole = nn.ModuleDict(
        {name.lower(): made(library, name, arguments) for name, arguments in LAYERS.items()}
    )
    whole["sequential"] = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    whole["list"] = nn.ModuleList([nn.Linear(2, 2)])
    whole["plist"] = nn.ParameterList([nn.Parameter(library.ones(2))])
    whole["named"] = nn.ParameterDict({"a": nn.Parameter(library.ones(2))})
    whole["list"][0].weight = whole["sequential"][0].weight
    whole.register_buffer("kept", library.arange(3))
    whole.register_buffer("dropped", library.arange(3), persistent=False)
    return whole


def bits(tensor: Any) -> tuple[str, tuple[int, ...], bytes]:
    array = numpy.asarray(tensor.detach().contiguous())
    return str(tensor.dtype), tuple(tensor.shape), array.tobytes()


def again(writer: Any, value: Any, reader: Any, **options: Any) -> Any:
    file = io.BytesIO()
    writer.save(value, file)
    file.seek(0)
    return reader.load(file, **options)


PAIRS = [(torch, thunk), (thunk, torch), (thunk, thunk)]


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=lambda each: each.__name__)
def test_state_dicts_cross(writer: Any, reader: Any) -> None:
    source = model(writer)
    state = again(writer, source.state_dict(), reader)
    reader.manual_seed(1)
    target = model(reader)
    for parameter in target.parameters():
        parameter.data.zero_()
    assert target.load_state_dict(state) == ([], [])
    theirs, ours = source.state_dict(), target.state_dict()
    assert list(ours) == list(theirs)
    for name, tensor in theirs.items():
        assert bits(ours[name]) == bits(tensor), name
    assert ours._metadata == theirs._metadata
    weight = target["sequential"][0].weight
    assert state["list.0.weight"].data_ptr() == state["sequential.0.weight"].data_ptr()
    assert target["list"][0].weight is weight


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=lambda each: each.__name__)
def test_whole_modules_cross(writer: Any, reader: Any, name: str) -> None:
    writer.manual_seed(0)
    source = made(writer, name, LAYERS[name])
    source.eval()
    found = again(writer, source, reader, weights_only=False)
    assert type(found) is type(made(reader, name, LAYERS[name]))
    assert found.training is False
    assert repr(found) == repr(source)
    theirs, ours = source.state_dict(), found.state_dict()
    assert {key: bits(value) for key, value in ours.items()} == {
        key: bits(value) for key, value in theirs.items()
    }


@pytest.mark.parametrize("writer", [torch, thunk], ids=lambda each: each.__name__)
def test_thunk_s_own_layers_need_no_permission(writer: Any) -> None:
    found = again(writer, model(writer), thunk)
    assert list(found.state_dict()) == list(model(thunk).state_dict())
    assert found["list"][0].weight is found["sequential"][0].weight
    x = thunk.ones(1, 3)
    assert found["linear"](x).tolist() == model(thunk)["linear"](x).tolist()


class Mine(torch.nn.Module):
    """A module that is not Thunk's."""


def test_other_modules_do() -> None:
    file = io.BytesIO()
    torch.save(Mine(), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Mine"):
        thunk.load(file)


def trained(library: Any) -> tuple[Any, Any]:
    library.manual_seed(0)
    layer = library.nn.Linear(2, 1)
    optimizer = library.optim.Adam(layer.parameters(), lr=0.1, amsgrad=True)
    return layer, optimizer


def step(library: Any, layer: Any, optimizer: Any) -> list[float]:
    optimizer.zero_grad()
    layer(library.ones(3, 2)).square().sum().backward()
    optimizer.step()
    return [value for each in layer.parameters() for value in each.flatten().tolist()]


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=lambda each: each.__name__)
def test_training_goes_on_in_the_other(writer: Any, reader: Any) -> None:
    layer, optimizer = trained(writer)
    for _ in range(3):
        step(writer, layer, optimizer)
    state = {"model": layer.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    found = again(writer, state, reader)
    other, resumed = trained(reader)
    other.load_state_dict(found["model"])
    resumed.load_state_dict(found["optimizer"])
    assert found["epoch"] == 3
    for _ in range(3):
        wanted = step(writer, layer, optimizer)
        assert step(reader, other, resumed) == pytest.approx(wanted, rel=1e-5)


def test_uninitialised_parameters_cross() -> None:
    for writer, reader in PAIRS:
        state = again(writer, writer.nn.LazyLinear(3).state_dict(), reader, weights_only=False)
        assert isinstance(state["weight"], reader.nn.UninitializedParameter)
        target = reader.nn.LazyLinear(3)
        target.load_state_dict(state)
        assert target.has_uninitialized_params()
        assert target(reader.ones(2, 5)).shape == (2, 3)
    assert again(torch, torch.nn.LazyLinear(3).state_dict(), thunk)["bias"].requires_grad
