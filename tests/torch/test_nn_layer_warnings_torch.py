"""What modules of `nn` warn of, against torch: the same kinds with the same beginnings."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import thunk


def mismatched_targets(lib: Any) -> None:
    lib.nn.MSELoss()(lib.ones(3, 1), lib.ones(3))
    lib.nn.L1Loss()(lib.ones(3, 1), lib.ones(3))
    lib.nn.SmoothL1Loss()(lib.ones(3, 1), lib.ones(3))
    lib.nn.HuberLoss()(lib.ones(3, 1), lib.ones(3))


def implicit_dimensions(lib: Any) -> None:
    for name in ("Softmax", "Softmin", "LogSoftmax"):
        getattr(lib.nn, name)()(lib.ones(2, 3))


def deprecated_arguments(lib: Any) -> None:
    lib.nn.Hardtanh(min_value=-2.0)
    lib.nn.Hardtanh(max_value=2.0)
    lib.nn.L1Loss(size_average=False)
    lib.nn.MSELoss(reduce=False)
    lib.nn.CrossEntropyLoss(size_average=True, reduce=True)
    lib.nn.NLLLoss2d()


def recurrent_dropout(lib: Any) -> None:
    lib.nn.LSTM(2, 3, dropout=0.5)
    lib.nn.GRU(2, 3, 2, dropout=0.5)
    lib.nn.RNN(2, 3, 1, dropout=0.2)


def nested_tensors(lib: Any) -> None:
    layer = lib.nn.TransformerEncoderLayer
    for options in (
        {}, {"norm_first": True}, {"batch_first": True}, {"bias": False, "batch_first": True},
        {"activation": lib.nn.SiLU(), "batch_first": True},
    ):  # fmt: skip
        lib.nn.TransformerEncoder(layer(4, 2, 8, **options), 1)
    lib.nn.TransformerEncoder(layer(3, 1, 8, batch_first=True), 1)
    lib.nn.TransformerEncoder(lib.nn.Linear(2, 2), 1, enable_nested_tensor=False)


def divergence(lib: Any) -> None:
    lib.nn.KLDivLoss()(lib.zeros(2, 3), lib.ones(2, 3))


def mismatched_masks(lib: Any) -> None:
    module = lib.nn.MultiheadAttention(4, 2)
    given = lib.ones(3, 1, 4)
    module(given, given, given, lib.zeros(1, 3).bool(), attn_mask=lib.zeros(3, 3))


def unused_features(lib: Any) -> None:
    lib.nn.InstanceNorm1d(4)(lib.ones(2, 3, 5))


def unexpected_dimensions(lib: Any) -> None:
    lib.nn.Dropout2d()(lib.ones(2, 3, 4))
    lib.nn.Dropout2d()(lib.ones(2, 3))
    lib.nn.Dropout3d()(lib.ones(2, 3))


CASES: tuple[Callable[[Any], None], ...] = (
    mismatched_targets, implicit_dimensions, deprecated_arguments, recurrent_dropout,
    nested_tensors, divergence, mismatched_masks, unused_features, unexpected_dimensions,
)  # fmt: skip


def warned(case: Callable[[Any], None], lib: Any) -> list[tuple[str, str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        case(lib)
    return [
        (each.category.__name__, re.split(r"[.:] ", str(each.message))[0].rstrip("."))
        for each in caught
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_warnings_are_torchs(case: Callable[[Any], None]) -> None:
    expected = warned(case, torch)
    assert expected
    assert warned(case, thunk) == expected


def test_warnings_point_at_the_user() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thunk.nn.LSTM(2, 3, dropout=0.5)
        thunk.nn.Hardtanh(min_value=-2.0)
        thunk.nn.NLLLoss2d()
    assert [each.filename for each in caught] == [__file__] * 3
