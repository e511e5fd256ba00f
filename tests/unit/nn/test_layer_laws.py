"""Laws that layers obey whatever their weights: inverses, adjoints, symmetries, invariances."""

from __future__ import annotations

from typing import Any

import pytest

import thunk
from thunk import nn
from thunk.nn import functional as F
from thunk.nn.utils.rnn import pack_sequence, pad_packed_sequence, pad_sequence, unpack_sequence

DOUBLE = thunk.float64


@pytest.fixture(autouse=True)
def seeded() -> None:
    thunk.manual_seed(0)


def random(*shape: int) -> Any:
    return thunk.randn(*shape, dtype=DOUBLE)


def same(left: Any, right: Any) -> None:
    assert tuple(left.shape) == tuple(right.shape)
    assert thunk.allclose(left, right, rtol=1e-9, atol=1e-9), (left - right).abs().max()


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2])
def test_transposed_convolutions_are_adjoint(count: int, stride: int) -> None:
    options: dict[str, Any] = {"stride": stride, "padding": 1, "bias": False, "dtype": DOUBLE}
    forward = getattr(nn, f"Conv{count}d")(2, 3, 3, **options)
    back = getattr(nn, f"ConvTranspose{count}d")(3, 2, 3, **options)
    with thunk.no_grad():
        back.weight.copy_(forward.weight)
    given = random(1, 2, *[7, 6, 5][:count])
    found = forward(given)
    other = random(*found.shape)
    same((found * other).sum(), (given * back(other, output_size=given.shape[2:])).sum())


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2])
def test_same_padding_keeps_the_size(size: int, dilation: int) -> None:
    for mode in ("zeros", "circular"):
        module = nn.Conv1d(1, 1, size, padding="same", dilation=dilation, padding_mode=mode)
        assert tuple(module(thunk.ones(2, 1, 11)).shape) == (2, 1, 11)


def test_circular_convolutions_turn_with_their_input() -> None:
    module = nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular", dtype=DOUBLE)
    given = random(1, 2, 5, 6)
    turned = thunk.roll(given, (2, 3), (2, 3))
    same(module(turned), thunk.roll(module(given), (2, 3), (2, 3)))


def test_group_norm_meets_layer_and_instance_norm() -> None:
    given = random(2, 4, 3, 5)
    whole = nn.LayerNorm((4, 3, 5), elementwise_affine=False)
    same(nn.GroupNorm(1, 4, affine=False)(given), whole(given))
    same(nn.GroupNorm(4, 4, affine=False)(given), nn.InstanceNorm2d(4)(given))


def test_batch_norm_counts_batches_and_averages_their_statistics() -> None:
    module = nn.BatchNorm1d(2, momentum=None, dtype=DOUBLE)
    batches = [random(5, 2) for _ in range(4)]
    for batch in batches:
        module(batch)
    assert module.num_batches_tracked.item() == 4
    same(module.running_mean, thunk.stack([each.mean(0) for each in batches]).mean(0))
    same(module.running_var, thunk.stack([each.var(0) for each in batches]).mean(0))
    before = module.running_mean.clone()
    module.eval()(batches[0])
    assert module.num_batches_tracked.item() == 4
    same(module.running_mean, before)
    module.reset_running_stats()
    assert module.num_batches_tracked.item() == 0


def test_converted_batch_norms_share_their_parameters() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Sequential(nn.BatchNorm2d(2)))
    found = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert type(found[1][0]) is nn.SyncBatchNorm
    same(found(thunk.ones(2, 1, 5, 5)), net(thunk.ones(2, 1, 5, 5)))


def test_rearrangements_have_inverses() -> None:
    given = random(2, 8, 6, 4)
    same(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(given)), given)
    same(nn.ChannelShuffle(4)(nn.ChannelShuffle(2)(given)), given)
    same(nn.Unflatten(1, (8, 6, 4))(nn.Flatten()(given)), given)
    counts = nn.Fold((6, 4), 3, padding=1)(nn.Unfold(3, padding=1)(thunk.ones_like(given)))
    found = nn.Fold((6, 4), 3, padding=1)(nn.Unfold(3, padding=1)(given))
    same(found / counts, given)


def test_unpooling_puts_maxima_back() -> None:
    given = random(2, 3, 6, 4)
    values, places = nn.MaxPool2d(2, return_indices=True)(given)
    back = nn.MaxUnpool2d(2)(values, places)
    same(F.max_pool2d(back.masked_fill(back == 0, -1e9), 2), values)
    assert (back != 0).sum().item() == values.numel()


def test_bags_are_sums_of_rows() -> None:
    table = random(9, 4)
    rows, bags = nn.Embedding.from_pretrained(table), nn.EmbeddingBag.from_pretrained(
        table, mode="sum"
    )
    words = thunk.tensor([[1, 4, 4], [8, 0, 2]])
    same(bags(words), rows(words).sum(1))
    assert not rows.weight.requires_grad


def test_padding_rows_stay_as_they_are() -> None:
    module = nn.Embedding(5, 3, padding_idx=2, dtype=DOUBLE)
    module(thunk.tensor([[2, 1], [2, 2]])).sum().backward()
    assert thunk.equal(module.weight[2], thunk.zeros(3, dtype=DOUBLE))
    assert thunk.equal(module.weight.grad.sum(1) != 0, thunk.tensor([0, 1, 0, 0, 0]).bool())


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_packed_sequences_run_as_if_alone(kind: str) -> None:
    network = getattr(nn, kind)(3, 4, 2, bidirectional=True, dtype=DOUBLE)
    given = [random(length, 3) for length in (2, 5, 1, 4)]
    output, state = network(pack_sequence(given, enforce_sorted=False))
    hidden = state[0] if isinstance(state, tuple) else state
    for place, (own, found) in enumerate(zip(given, unpack_sequence(output), strict=True)):
        alone, last = network(own)
        same(found, alone)
        same(hidden[:, place], last[0] if isinstance(last, tuple) else last)


def test_padding_and_packing_are_inverse() -> None:
    given = [random(length, 3) for length in (4, 1, 3)]
    padded, lengths = pad_packed_sequence(pack_sequence(given, enforce_sorted=False), True)
    assert lengths.tolist() == [4, 1, 3]
    same(padded, pad_sequence(given, batch_first=True))


def test_directions_mirror_each_other() -> None:
    both = nn.GRU(3, 4, bidirectional=True, dtype=DOUBLE)
    mirrored = nn.GRU(3, 4, dtype=DOUBLE)
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    with thunk.no_grad():
        for name in names:
            getattr(mirrored, name).copy_(getattr(both, f"{name}_reverse"))
    given = random(5, 2, 3)
    same(both(given)[0][..., 4:], mirrored(given.flip(0))[0].flip(0))


def test_cells_step_as_layers_do() -> None:
    for kind in ("RNN", "GRU", "LSTM"):
        layer, cell = getattr(nn, kind)(3, 4, dtype=DOUBLE), getattr(nn, f"{kind}Cell")(3, 4)
        cell = cell.to(DOUBLE)
        with thunk.no_grad():
            for own, other in zip(cell.parameters(), layer.parameters(), strict=True):
                own.copy_(other)
        given, state = random(5, 2, 3), None
        for step in given:
            state = cell(step, state)
        last = state[0] if isinstance(state, tuple) else state
        same(layer(given)[0][-1], last)


def encoder(**options: Any) -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dtype=DOUBLE, **options)
    return nn.TransformerEncoder(layer, 2).eval()


@pytest.mark.parametrize("norm_first", [False, True])
def test_causal_encoders_do_not_look_ahead(norm_first: bool) -> None:
    net = encoder(norm_first=norm_first)
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=DOUBLE)
    given = random(2, 5, 8)
    changed = thunk.cat([given[:, :3], random(2, 2, 8)], 1)
    for options in ({}, {"is_causal": True}):
        found, other = net(given, mask, **options), net(changed, mask, **options)
        same(found[:, :3], other[:, :3])
        assert not thunk.allclose(found[:, 3:], other[:, 3:])


@pytest.mark.parametrize("grad", [True, False])
def test_padding_is_not_attended_to(grad: bool) -> None:
    net = encoder()
    hidden = thunk.tensor([[False] * 3 + [True] * 2, [False] * 5])
    given = random(2, 5, 8)
    changed = given.clone()
    changed[0, 3:] = 7.0
    with thunk.set_grad_enabled(grad):
        found = net(given, src_key_padding_mask=hidden)
        other = net(changed, src_key_padding_mask=hidden)
    same(found[0, :3], other[0, :3])
    same(found[1], other[1])
    # As PyTorch's nested tensors: without gradients, padding comes back as zeros.
    assert bool((found[0, 3:] == 0).all()) is not grad


def test_attention_weights_are_shares() -> None:
    module = nn.MultiheadAttention(8, 4, batch_first=True, dtype=DOUBLE)
    given = random(2, 5, 8)
    output, shares = module(given, given, given, average_attn_weights=False)
    same(shares.sum(-1), thunk.ones(2, 4, 5, dtype=DOUBLE))
    without, nothing = module(given, given, given, need_weights=False)
    same(output, without)
    assert nothing is None
    order = thunk.tensor([3, 1, 4, 0, 2])
    same(module(given[:, order], given, given)[0], output[:, order])


def test_adaptive_softmax_is_a_softmax() -> None:
    module = nn.AdaptiveLogSoftmaxWithLoss(6, 12, [3, 7], div_value=2.0, dtype=DOUBLE)
    given, wanted = random(8, 6), thunk.tensor([0, 2, 3, 6, 7, 11, 5, 1])
    whole = module.log_prob(given)
    same(whole.exp().sum(1), thunk.ones(8, dtype=DOUBLE))
    output, loss = module(given, wanted)
    same(output, whole.gather(1, wanted.unsqueeze(1)).squeeze(1))
    same(loss, -output.mean())
    assert thunk.equal(module.predict(given), whole.argmax(1))
    with pytest.raises(RuntimeError, match=r"in \[0, 11\]"):
        module(given, wanted + 1)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_pools_of_no_samples_have_no_samples(count: int) -> None:
    for name, arguments in (("MaxPool", (2,)), ("AvgPool", (2,)), ("AdaptiveMaxPool", (3,)),
                            ("AdaptiveAvgPool", (3,)), ("LPPool", (2.0, 2))):
        given = random(0, 2, *[6] * count).requires_grad_()
        found = getattr(nn, f"{name}{count}d")(*arguments)(given)
        assert tuple(found.shape) == (0, 2, *[3] * count)
        found.sum().backward()
        assert given.grad.shape == given.shape


def test_circular_padding_refuses_more_than_is_left() -> None:
    given = thunk.arange(3.0).reshape(1, 1, 3)
    assert nn.CircularPad1d((-1, 2))(given).tolist() == [[[1.0, 2.0, 1.0, 2.0]]]
    with pytest.raises(RuntimeError, match="at most 2 elements"):
        nn.CircularPad1d((-1, 3))(given)
