"""Models of several layers, trained in torch and here from one seed: the losses agree step by step.

Every model is written once, over the library it is given; weights come from the seed alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import thunk

STEPS = 20
Loss = Callable[[], Any]


def data(library: Any, *shape: int, classes: int = 0) -> Any:
    random = np.random.default_rng(sum(shape) + classes)
    if classes:
        return library.from_numpy(random.integers(0, classes, shape))
    return library.from_numpy(random.standard_normal(shape).astype(np.float32))


def pictures(library: Any) -> tuple[Any, Loss]:
    nn = library.nn
    net = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding="same", padding_mode="reflect"), nn.BatchNorm2d(6), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, groups=2), nn.GroupNorm(2, 8), nn.GELU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 10), nn.LogSoftmax(dim=1),
    )  # fmt: skip
    given, wanted = data(library, 8, 1, 12, 12), data(library, 8, classes=10)
    criterion = nn.NLLLoss()
    return net, lambda: criterion(net(given), wanted)


def autoencoder(library: Any) -> tuple[Any, Loss]:
    nn = library.nn
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.InstanceNorm2d(8, affine=True), nn.SiLU(),
        nn.ConvTranspose2d(8, 12, 4, stride=2, padding=1), nn.PReLU(12), nn.PixelShuffle(2),
        nn.AvgPool2d(2), nn.Sigmoid(),
    )  # fmt: skip
    given = data(library, 4, 3, 8, 8)
    criterion = nn.BCELoss()
    return net, lambda: criterion(net(given), given.sigmoid())


def sequences(library: Any) -> tuple[Any, Loss]:
    nn = library.nn
    parts = nn.ModuleDict({
        "words": nn.Embedding(20, 6, padding_idx=0),
        "net": nn.LSTM(6, 8, 2, bidirectional=True, batch_first=True),
        "norm": nn.LayerNorm(16),
        "head": nn.Linear(16, 20),
    })
    words = data(library, 3, 7, classes=20)
    lengths = [4, 7, 2]
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def loss() -> Any:
        rnn = nn.utils.rnn
        packed = rnn.pack_padded_sequence(parts["words"](words), lengths, True, False)
        output, _ = rnn.pad_packed_sequence(parts["net"](packed)[0], batch_first=True)
        return criterion(parts["head"](parts["norm"](output)).transpose(1, 2), words)

    return parts, loss


def translation(library: Any) -> tuple[Any, Loss]:
    nn = library.nn
    net = nn.Transformer(8, 2, 1, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    source, target = data(library, 3, 5, 8), data(library, 3, 4, 8)
    mask = net.generate_square_subsequent_mask(4)
    hidden = library.tensor([[False] * 5, [False] * 4 + [True], [False] * 3 + [True] * 2])
    criterion = nn.SmoothL1Loss()

    def loss() -> Any:
        output = net(
            source, target, tgt_mask=mask, tgt_is_causal=True,
            src_key_padding_mask=hidden, memory_key_padding_mask=hidden,
        )  # fmt: skip
        return criterion(output, target)

    return net, loss


def series(library: Any) -> tuple[Any, Loss]:
    """Cells stepped by hand in double precision."""
    nn = library.nn
    parts = nn.ModuleList([nn.GRUCell(1, 5), nn.LSTMCell(5, 4), nn.Linear(4, 1)]).double()
    given = data(library, 6, 3, 1).double()
    criterion = nn.HuberLoss()

    def loss() -> Any:
        hidden = state = None
        found = []
        for step in given:
            hidden = parts[0](step, hidden)
            state = parts[1](hidden, state)
            found.append(parts[2](state[0]))
        return criterion(library.stack(found[:-1]), given[1:])

    return parts, loss


def metric(library: Any) -> tuple[Any, Loss]:
    nn = library.nn
    net = nn.Sequential(
        nn.EmbeddingBag(30, 8, mode="sum"), nn.RMSNorm(8),
        nn.Linear(8, 6), nn.Softplus(), nn.Hardtanh(0.0, 4.0),
    )  # fmt: skip
    anchor, near, far = (data(library, 6, length, classes=30) for length in (3, 4, 5))
    criterion = nn.TripletMarginLoss(margin=2.0, swap=True)
    return net, lambda: criterion(net(anchor), net(near), net(far))


MODELS = (pictures, autoencoder, sequences, translation, series, metric)


def losses(library: Any, model: Any) -> list[float]:
    library.manual_seed(11)
    net, loss = model(library)
    momentum: list[Any] = [None] * len(list(net.parameters()))
    found = []
    for _ in range(STEPS):
        net.zero_grad()
        value = loss()
        value.backward()
        found.append(value.item())
        with library.no_grad():
            for place, each in enumerate(net.parameters()):
                if each.grad is None:
                    continue
                old = momentum[place]
                momentum[place] = each.grad if old is None else old * 0.8 + each.grad
                each -= 0.05 * momentum[place]
    return found


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_losses_agree_step_by_step(model: Any) -> None:
    expected, actual = losses(torch, model), losses(thunk, model)
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(actual, expected, rtol=1e-4)
