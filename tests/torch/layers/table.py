"""Configs beside those of torch's database: what it lacks, and arguments that it never varies.

In: a dtype. Out: `Config`s by name, inputs drawn from one seed. Modules whose results are random
are judged in their own tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .judge import SEED, Config

Make = Callable[..., torch.Tensor]


def indices(high: int, *shape: int) -> torch.Tensor:
    """Whole numbers below `high`."""
    return torch.randint(high, shape)


def convolutions(x: Make) -> list[Config]:
    line, plane, volume = x(2, 4, 9), x(2, 4, 8, 7), x(2, 4, 5, 4, 6)
    found = [
        Config("Conv1d", (4, 6, 3), {"padding": "same", "dilation": 2}, (line,)),
        Config("Conv1d", (4, 6, 4), {"padding": "same"}, (line,)),
        Config("Conv1d", (4, 6, 3), {"padding": "valid", "stride": 2}, (x(4, 9),)),
        Config("Conv2d", (4, 6, 3), {"groups": 2, "bias": False}, (plane,)),
        Config("Conv2d", (4, 8, (3, 2)), {"stride": (2, 1), "padding": (1, 2)}, (plane,)),
        Config("Conv2d", (4, 4, 3), {"groups": 4, "dilation": 2, "padding": 2}, (x(4, 8, 7),)),
        Config("Conv2d", (4, 5, (4, 3)), {"padding": "same"}, (plane,)),
        Config("Conv3d", (4, 2, 2), {"padding": 1, "stride": (1, 2, 1)}, (volume,)),
    ]
    for mode in ("reflect", "replicate", "circular"):
        found += [
            Config("Conv1d", (4, 2, 3), {"padding": 2, "padding_mode": mode}, (line,)),
            Config("Conv2d", (4, 2, 3), {"padding": (1, 2), "padding_mode": mode}, (plane,)),
            Config("Conv2d", (4, 2, 4), {"padding": "same", "padding_mode": mode}, (plane,)),
            Config("Conv3d", (4, 2, 3), {"padding": 1, "padding_mode": mode}, (volume,)),
        ]
    transposed: dict[str, Any] = {"stride": 2, "padding": 1, "output_padding": 1}
    found += [
        Config("ConvTranspose1d", (4, 6, 3), transposed, (line,)),
        Config("ConvTranspose2d", (4, 6, 3), {**transposed, "groups": 2}, (plane,)),
        Config("ConvTranspose2d", (4, 2, 3), {"stride": 2}, (plane,), {"output_size": (18, 15)}),
        Config("ConvTranspose2d", (4, 2, (3, 2)), {"dilation": 2, "bias": False}, (x(4, 8, 7),)),
        Config("ConvTranspose3d", (4, 2, 3), transposed, (volume,)),
    ]
    return found


def pools(x: Make) -> list[Config]:
    line, plane, volume = x(2, 3, 12), x(2, 3, 8, 9), x(2, 3, 6, 8, 7)
    window: dict[str, Any] = {"stride": 2, "padding": 1, "ceil_mode": True}
    found = []
    for count, given in ((1, line), (2, plane), (3, volume)):
        found += [
            Config(f"MaxPool{count}d", (3,), {**window, "dilation": 2}, (given,)),
            Config(f"MaxPool{count}d", (2,), {"return_indices": True}, (given,)),
            Config(f"AvgPool{count}d", (3,), {**window, "count_include_pad": False}, (given,)),
            Config(f"LPPool{count}d", (2, 3), {"stride": 2, "ceil_mode": True}, (given.abs(),)),
            Config(f"AdaptiveAvgPool{count}d", (5,), {}, (given,)),
            Config(f"AdaptiveMaxPool{count}d", (3,), {"return_indices": True}, (given,)),
            Config(f"MaxUnpool{count}d", (2,), {}, *unpool(count, given)),
        ]
    found += [
        Config("AvgPool2d", ((3, 2),), {"divisor_override": 5}, (plane,)),
        Config("AdaptiveAvgPool2d", ((None, 4),), {}, (plane,)),
        Config("MaxUnpool2d", (2,), {}, unpool(2, x(3, 4, 6))[0]),
    ]
    return found


def unpool(count: int, given: torch.Tensor) -> tuple[Any, dict[str, Any]]:
    """What unpooling takes to give the shape of what was pooled."""
    values, places = getattr(F, f"max_pool{count}d")(given, 2, return_indices=True)
    size = {"output_size": tuple(given.shape)}
    return (values.detach().requires_grad_(), places), size


def norms(x: Make) -> list[Config]:
    line, plane, volume = x(4, 6, 5), x(3, 6, 4, 5), x(2, 6, 3, 4, 2)
    found = []
    for count, given in ((1, line), (2, plane), (3, volume)):
        for kwargs in (
            {"momentum": None}, {"affine": False}, {"track_running_stats": False},
            {"bias": False, "eps": 1e-3, "momentum": 0.3},
        ):  # fmt: skip
            found.append(Config(f"BatchNorm{count}d", (6,), kwargs, (given,)))
        for kwargs in ({"affine": True, "track_running_stats": True}, {"affine": True}, {}):
            found.append(Config(f"InstanceNorm{count}d", (6,), kwargs, (given,)))
    found += [
        Config("BatchNorm1d", (6,), {}, (x(4, 6),)),
        Config("InstanceNorm1d", (6,), {"affine": True, "bias": False}, (x(6, 5),)),
        Config("SyncBatchNorm", (6,), {}, (plane,)),
        Config("LayerNorm", ((4, 5),), {"bias": False}, (plane,)),
        Config("LayerNorm", (5,), {"elementwise_affine": False, "eps": 1e-2}, (plane,)),
        Config("LayerNorm", ([4, 5],), {}, (plane,)),
        Config("GroupNorm", (3, 6), {"affine": False}, (plane,)),
        Config("GroupNorm", (2, 6), {"bias": False}, (line,)),
        Config("RMSNorm", ((4, 5),), {"eps": 1e-3}, (plane,)),
        Config("RMSNorm", (5,), {"elementwise_affine": False}, (plane,)),
        Config("LocalResponseNorm", (2,), {"alpha": 0.5, "k": 2.0}, (plane,)),
        Config("CrossMapLRN2d", (5,), {"alpha": 0.5, "beta": 0.6}, (plane.detach(),)),
        Config("CrossMapLRN2d", (2,), {"alpha": 0.5, "k": 2}, (plane.detach(),)),
    ]
    return found


def tables(x: Make) -> list[Config]:
    words = indices(10, 3, 4)
    offsets = torch.tensor([0, 3, 3, 7])
    weights = x(3, 4)
    found = [
        Config("Embedding", (10, 4), {"padding_idx": -1}, (words,)),
        Config("Embedding", (10, 4), {"max_norm": 1.0, "norm_type": 1.0}, (words,)),
        Config("Embedding", (10, 4), {"scale_grad_by_freq": True}, (words,)),
        Config("Embedding", (10, 4), {"_weight": x(10, 4).detach().float()}, (words,)),
        Config("EmbeddingBag", (10, 4), {"max_norm": 1.0}, (words,)),
        Config("EmbeddingBag", (10, 4), {"mode": "sum"}, (words, None, weights)),
        Config("EmbeddingBag", (10, 4), {"padding_idx": 2}, (words,)),
    ]
    for mode in ("sum", "mean", "max"):
        found.append(Config("EmbeddingBag", (10, 4), {"mode": mode}, (indices(10, 9), offsets)))
    last = {"mode": "sum", "include_last_offset": True}
    found.append(Config("EmbeddingBag", (10, 4), last, (indices(10, 7), offsets)))
    return found


def activations(x: Make) -> list[Config]:
    given = x(3, 4, 5)
    plain = ("Hardsigmoid", "Identity", "LogSigmoid", "Softsign", "Tanhshrink")
    found = [Config(name, (), {}, (given,)) for name in plain]
    whole = ("Hardsigmoid", "Hardswish", "Mish", "ReLU", "ReLU6", "SELU", "SiLU")
    found += [Config(name, (), {"inplace": True}, (given.detach(),)) for name in whole]
    found += [
        Config("Hardtanh", (-0.5, 0.25, True), {}, (given.detach(),)),
        Config("Threshold", (0.1, 2.0, True), {}, (given.detach(),)),
        Config("ELU", (0.5, True), {}, (given.detach(),)),
        Config("CELU", (0.5, True), {}, (given.detach(),)),
        Config("LeakyReLU", (0.2, True), {}, (given.detach(),)),
        Config("RReLU", (0.3, 0.3), {}, (given,)),
        Config("PReLU", (4, 0.1), {}, (given,)),
        Config("GELU", ("tanh",), {}, (given,)),
        Config("GLU", (1,), {}, (given,)),
        Config("Softplus", (2.0, 0.5), {}, (given,)),
        Config("Softmax", (), {}, (given,)),
        Config("Softmin", (), {}, (x(4, 5),)),
        Config("Hardshrink", (0.2,), {}, (given,)),
    ]
    return found


def shapes(x: Make) -> list[Config]:
    plane = x(2, 8, 6, 4)
    found = [
        Config("Flatten", (), {}, (plane,)),
        Config("Flatten", (0, 2), {}, (plane,)),
        Config("Unflatten", (1, (2, 4)), {}, (plane,)),
        Config("Unflatten", (-1, torch.Size([2, 2])), {}, (plane,)),
        Config("ChannelShuffle", (4,), {}, (plane,)),
        Config("PixelShuffle", (2,), {}, (plane,)),
        Config("PixelUnshuffle", (2,), {}, (plane,)),
        Config("Unfold", ((2, 3),), {"padding": 1, "stride": (2, 1)}, (plane,)),
        Config("Unfold", (2,), {"dilation": 2}, (x(8, 6, 4),)),
        Config("Fold", ((4, 5), 2), {"padding": 1, "stride": 2}, (x(2, 12, 9),)),
        Config("UpsamplingNearest2d", (), {"scale_factor": 2}, (plane,)),
        Config("UpsamplingBilinear2d", ((9, 7),), {}, (plane,)),
        Config("Upsample", (), {"scale_factor": (1.5, 2.0), "mode": "bilinear"}, (plane,)),
        Config("Upsample", (10,), {"mode": "linear", "align_corners": True}, (x(2, 3, 4),)),
        Config("Upsample", (), {"scale_factor": 2, "mode": "bicubic"}, (plane,)),
        Config("Upsample", ((3, 5, 4),), {"mode": "trilinear"}, (x(1, 2, 4, 3, 5),)),
        Config("ZeroPad2d", ((1, 2, 0, -1),), {}, (plane,)),
    ]
    return found


def comparisons(x: Make) -> list[Config]:
    one, two, three = x(5, 4), x(5, 4), x(5, 4)
    found = [
        Config("CosineSimilarity", (), {"dim": 0, "eps": 1e-4}, (one, two)),
        Config("PairwiseDistance", (1.0,), {"keepdim": True}, (one, two)),
        Config("TripletMarginLoss", (0.5, 1.0), {"swap": True}, (one, two, three)),
        Config("TripletMarginLoss", (), {"reduction": "none"}, (one, two, three)),
        Config("TripletMarginWithDistanceLoss", (), {"margin": 0.5}, (one, two, three)),
        Config("TripletMarginWithDistanceLoss", (), {"swap": True}, (one, two, three)),
        Config("NLLLoss2d", (), {}, (x(2, 3, 4, 5), indices(3, 2, 4, 5))),
        Config("L1Loss", (), {"size_average": False}, (one, two)),
        Config("MSELoss", (), {"reduce": False}, (one, two)),
        Config("BCEWithLogitsLoss", (), {"pos_weight": torch.rand(4)}, (one, two.sigmoid())),
        Config("CrossEntropyLoss", (), {"label_smoothing": 0.1}, (one, indices(4, 5))),
        Config("CrossEntropyLoss", (), {}, (one, two.softmax(1).detach())),
        Config("GaussianNLLLoss", (), {"full": True}, (one, two, three.exp().detach())),
        Config("KLDivLoss", (), {"reduction": "batchmean"}, (one, two.softmax(1).detach())),
    ]
    frequent = {"cutoffs": [3, 6], "div_value": 2.0}
    targets = torch.tensor([0, 7, 2, 5, 9])
    for kwargs in (frequent, {**frequent, "head_bias": True}):
        found.append(
            Config("AdaptiveLogSoftmaxWithLoss", (4, 10), kwargs, (one, targets))
        )
    near = Config("AdaptiveLogSoftmaxWithLoss", (4, 10), frequent, (x(4), torch.tensor(4)))
    return [*found, near]


def attention(x: Make) -> list[Config]:
    queries, keys, values = x(3, 2, 8), x(5, 2, 6), x(5, 2, 4)
    own = x(4, 2, 8)
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    hidden = torch.tensor([[False] * 4, [False, False, True, True]])
    other = (queries, keys, values)
    sizes = {"kdim": 6, "vdim": 4}
    apart = {"average_attn_weights": False}
    nothing = torch.tensor([[True] * 4, [False] * 4])
    causal = {"attn_mask": later, "is_causal": True, "need_weights": False}
    plain = {"dropout": 0.0}
    layer = torch.nn.TransformerDecoderLayer(8, 2, 12, batch_first=True, **plain)
    name = "MultiheadAttention"
    first = own.transpose(0, 1).detach()
    return [
        Config(name, (8, 2), {**sizes, "add_bias_kv": True}, other),
        Config(name, (8, 4), {**sizes, "add_zero_attn": True, "bias": False}, other, apart),
        Config(name, (8, 2), {}, (own, own, own), {"attn_mask": later}),
        Config(name, (8, 2), {}, (own, own, own), {"key_padding_mask": hidden}),
        Config(name, (8, 2), {}, (own, own, own), causal),
        Config(name, (8, 2), {}, (own, own, own),
               {"key_padding_mask": nothing, "need_weights": False}),
        Config(name, (8, 1), {"batch_first": True}, (first, first, first), causal),
        Config(name, (8, 2), {}, (x(3, 8), x(5, 8), x(5, 8)), apart),
        Config("TransformerDecoder", (layer, 2), {"norm": torch.nn.LayerNorm(8)},
               (x(2, 4, 8), x(2, 3, 8)), {"tgt_mask": later, "tgt_is_causal": True}),
        Config("Transformer", (8, 2, 1, 1, 12), plain, (x(3, 2, 8), own),
               {"tgt_mask": torch.nn.Transformer.generate_square_subsequent_mask(4)}),
        Config("Transformer", (8, 2, 1, 2, 12), {**plain, "activation": "gelu",
               "norm_first": True, "batch_first": True}, (x(2, 3, 8), x(2, 4, 8))),
    ]  # fmt: skip


FAMILIES = (
    convolutions, pools, norms, tables, activations, shapes, comparisons, attention,
)


def configs(dtype: torch.dtype) -> dict[str, list[Config]]:
    """All configs by module name."""
    torch.manual_seed(SEED)

    def real(*shape: int) -> torch.Tensor:
        return torch.randn(shape, dtype=dtype, requires_grad=True)

    found: dict[str, list[Config]] = {}
    for family in FAMILIES:
        for config in family(real):
            found.setdefault(config.name, []).append(config)
    return found
