"""Attention with functions of scores, against torch's unfused form."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from tests.torch.layers.judge import TOLERANCE, backward, over, subject
from tests.torch.oracle.compare import Comparison
from tests.torch.oracle.convert import to_array
from tests.torch.oracle.subject import Subject, reference
from torch.nn.attention import flex_attention as theirs

from thunk.nn.attention import flex_attention as ours


@pytest.fixture(autouse=True)
def unfused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    warnings.simplefilter("ignore")


def causal(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return q >= kv


def window(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return (q - kv).abs() <= 3


def of_head(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return (kv + h) % 3 != b


def nothing_for_two(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return (q != 2) & (kv < 4)


MASKS = {"causal": causal, "window": window, "of head": of_head, "nothing": nothing_for_two}


def relative(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score - 0.1 * (h + 1) * (q - kv).abs()


def capped(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return (score / 2).tanh() * 2


SCORES = {"none": None, "relative": relative, "capped": capped}
BOTH = ((reference(), theirs), (subject(), ours))


def operands(library: Subject, shared_heads: int = 4, gradients: bool = False) -> Any:
    torch.manual_seed(0)
    shapes = ((2, 4, 9, 6), (2, shared_heads, 7, 6), (2, shared_heads, 7, 5))
    return over(library, tuple(torch.randn(s, requires_grad=gradients) for s in shapes))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask", [None, *MASKS])
def test_values_are_torchs(mask: str | None, score: str) -> None:
    answers = []
    for library, flex in BOTH:
        blocks = None
        if mask is not None:
            blocks = flex.create_block_mask(MASKS[mask], 2, 4, 9, 7, "cpu", BLOCK_SIZE=4)
        answers.append(flex.flex_attention(*operands(library), SCORES[score], blocks))
    Comparison(subject(), TOLERANCE).check(*answers)


def spelled_out(query: Any, key: Any, value: Any, score: Any, mask: Any) -> Any:
    """The same in torch, step by step: torch has no gradient of its own form on the CPU."""
    places = [
        torch.arange(size).reshape([-1 if own == dim else 1 for own in range(4)])
        for dim, size in enumerate((2, 4, 9, 7))
    ]
    scores = query @ key.transpose(-2, -1) / 6**0.5
    scores = scores if score is None else score(scores, *places)
    scores = scores if mask is None else scores.where(mask(*places), float("-inf"))
    return torch._safe_softmax(scores, -1) @ value


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask", [None, *MASKS])
def test_gradients_are_those_of_the_steps(mask: str | None, score: str) -> None:
    wanted, given = operands(reference(), gradients=True), operands(subject(), gradients=True)
    expected = spelled_out(*wanted, SCORES[score], None if mask is None else MASKS[mask])
    blocks = None if mask is None else ours.create_block_mask(MASKS[mask], 2, 4, 9, 7)
    found = ours.flex_attention(*given, SCORES[score], blocks)
    backward(reference(), expected)
    backward(subject(), found)
    Comparison(subject(), TOLERANCE).check(
        [expected, *[each.grad for each in wanted]], [found, *[each.grad for each in given]]
    )


def test_shared_heads_scales_and_statistics_are_torchs() -> None:
    answers = []
    for library, flex in BOTH:
        given = operands(library, shared_heads=2)
        blocks = flex.create_block_mask(causal, None, None, 9, 7, "cpu")
        aux = flex.AuxRequest(lse=True)
        found = flex.flex_attention(
            *given, relative, blocks, scale=0.3, enable_gqa=True, return_aux=aux
        )
        plain = flex.flex_attention(*given, None, blocks, enable_gqa=True)
        both = flex.flex_attention(*given, enable_gqa=True, return_lse=True)
        answers.append([list(found), plain, both])
    answers[0][0][1], answers[1][0][1] = tuple(answers[0][0][1]), tuple(answers[1][0][1])
    Comparison(subject(), TOLERANCE).check(*answers)


def test_the_largest_scores_are_those_of_the_steps() -> None:
    query, key, value = operands(subject())
    aux = ours.AuxRequest(max_scores=True)
    _, found = ours.flex_attention(query, key, value, capped, return_aux=aux)
    scores = ((query @ key.transpose(-2, -1)) / 6**0.5 / 2).tanh() * 2
    np.testing.assert_allclose(found.max_scores.numpy(), scores.amax(-1).numpy(), rtol=1e-6)
    assert found.lse is None


def test_captured_tensors_are_indexed_by_place() -> None:
    answers = []
    torch.manual_seed(1)
    table, kinds = torch.randn(4, 9, 7), torch.tensor([0, 0, 1, 1, 1, 2, 2, 2, 2])
    for library, flex in BOTH:
        bias, kind = over(library, (table, kinds))

        def biased(score: Any, b: Any, h: Any, q: Any, kv: Any, bias: Any = bias) -> Any:
            return score + bias[h, q, kv]

        def alike(b: Any, h: Any, q: Any, kv: Any, kind: Any = kind) -> Any:
            return kind[q] == kind[kv]

        blocks = flex.create_block_mask(alike, None, None, 9, 7, "cpu", BLOCK_SIZE=2)
        answers.append(flex.flex_attention(*operands(library), biased, blocks))
    Comparison(subject(), TOLERANCE).check(*answers)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("size", [4, (2, 3), 128])
@pytest.mark.parametrize("apart", [True, False])
def test_blocks_are_torchs(mask: str, size: Any, apart: bool) -> None:
    answers = []
    for _, flex in BOTH:
        blocks = flex.create_block_mask(
            MASKS[mask], 2, 2, 9, 7, "cpu", size, separate_full_blocks=apart
        )
        # Behind the blocks that are set, the lists hold the others in any order.
        answers.append([
            blocks.kv_num_blocks, blocks.full_kv_num_blocks, blocks.q_num_blocks,
            blocks.full_q_num_blocks, blocks.to_dense(), tuple(blocks.shape), blocks.sparsity(),
            blocks.numel(), tuple(blocks.BLOCK_SIZE), blocks[:, 0].to_dense(),
        ])  # fmt: skip
    Comparison(subject(), TOLERANCE).check(*answers)


def test_masks_combine_and_scores_make_masks() -> None:
    for combine in ("and_masks", "or_masks"):
        found = []
        for library, flex in BOTH:
            both = getattr(flex, combine)(causal, window)
            found.append(to_array(library, flex.create_mask(both, 1, 1, 9, 7, "cpu")))
        np.testing.assert_array_equal(*found)


def test_a_mask_of_listed_blocks() -> None:
    found = []
    for library, flex in BOTH:
        counts = over(library, torch.tensor([[[1, 2]]], dtype=torch.int32))
        indices = over(library, torch.tensor([[[[0, 1], [0, 1]]]], dtype=torch.int32))
        blocks = flex.BlockMask.from_kv_blocks(counts, indices, BLOCK_SIZE=4)
        found.append([tuple(blocks.shape), blocks.to_dense(), blocks.q_num_blocks])
    Comparison(subject(), TOLERANCE).check(*found)


def test_what_torch_refuses_is_refused() -> None:
    for library, flex in BOTH:
        query, key, value = operands(library)
        short = flex.create_block_mask(causal, None, None, 4, 7, "cpu")
        whole = flex.create_block_mask(causal, 2, 4, 9, 7, "cpu", BLOCK_SIZE=9)
        few = operands(library, shared_heads=2)
        with pytest.raises(ValueError, match="block_mask was created for"):
            flex.flex_attention(query, key, value, block_mask=short)
        with pytest.raises(ValueError, match="same number of heads"):
            flex.flex_attention(*few)
        with pytest.raises(RuntimeError, match="sliced"):
            flex.flex_attention(query, key, value, block_mask=whole[:, :, :1])
        with pytest.raises(NotImplementedError):
            flex.flex_attention(query[0], key[0], value[0])
