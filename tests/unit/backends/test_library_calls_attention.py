"""Attention by blocks, and its gradient, against NumPy in float64."""

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from library_calls import run
from thunk.backends.cpu.calls.attention import Attention, AttentionCall
from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.base.config import config
from thunk.types.dtype import float32, float64

RANDOM = numpy.random.default_rng(3)
Array = numpy.ndarray


@pytest.fixture(autouse=True, params=["oneDNN", "own"])
def provider(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test runs on the library and on own kernels."""
    with config.override(onednn=request.param == "oneDNN", blas="own"):
        yield request.param


def dense(*shape: int) -> Layout:
    return plain(shape, float32)


class Case:
    """Values of one attention, and what it and its gradient are."""

    def __init__(
        self, batch: tuple[int, ...], queries: int, keys: int, features: int, values: int,
        causal: bool = False, mask: Array | None = None,
    ) -> None:  # fmt: skip
        def normal(*shape: int) -> Array:
            return RANDOM.standard_normal((*batch, *shape)).astype("f4").astype("f8")

        self.scale, self.causal, self.mask = 0.3, causal, mask
        self.query, self.key = normal(queries, features), normal(keys, features)
        self.value, self.grad_out = normal(keys, values), normal(queries, values)

    def spec(self, gradient: bool, threads: int = 2, **layouts: Layout) -> Attention:
        of = {
            name: layouts.get(name, dense(*getattr(self, name).shape))
            for name in ("query", "key", "value")
        }
        out = layouts.get("out", dense(*self.grad_out.shape))
        gradients = (out, of["query"], of["key"], of["value"]) if gradient else None
        mask = None if self.mask is None else dense(*self.mask.shape)
        return Attention(
            **of, out=out, mask=mask, scale=self.scale, causal=self.causal, gradients=gradients,
            threads=threads,
        )  # fmt: skip

    def given(self) -> dict[str, Any]:
        return {
            name: getattr(self, name) for name in ("query", "key", "value", "mask", "grad_out")
        }

    def shares(self) -> Array:
        scores = self.query @ self.key.swapaxes(-1, -2) * self.scale
        if self.mask is not None:
            scores = scores + self.mask
        if self.causal:
            scores = numpy.where(numpy.tril(numpy.ones(scores.shape[-2:])), scores, -numpy.inf)
        top = scores.max(-1, keepdims=True)
        parts = numpy.exp(scores - numpy.where(numpy.isinf(top), 0, top))
        total = parts.sum(-1, keepdims=True)
        return parts / numpy.where(total == 0, 1, total)

    def wanted(self) -> dict[str, Array]:
        shares = self.shares()
        out = shares @ self.value
        changes = self.grad_out @ self.value.swapaxes(-1, -2)
        mean = (self.grad_out * out).sum(-1, keepdims=True)
        raw = shares * (changes - mean) * self.scale
        return {
            "out": out,
            "grad_query": raw @ self.key,
            "grad_key": raw.swapaxes(-1, -2) @ self.query,
            "grad_value": shares.swapaxes(-1, -2) @ self.grad_out,
        }


def lower_left(queries: int, keys: int) -> Array:
    """A mask that forbids some keys, and everything to the first query."""
    mask = RANDOM.standard_normal((queries, keys)).astype("f4").astype("f8")
    mask[:, keys // 2] = -numpy.inf
    mask[0] = -numpy.inf
    return mask


CASES = {
    "one block": Case((2, 3), 40, 40, 16, 16),
    "several blocks": Case((1, 2), 300, 300, 32, 32),
    "causal": Case((1, 2), 300, 300, 32, 32, causal=True),
    "more keys": Case((2,), 130, 257, 8, 24),
    "more keys, causal": Case((2,), 130, 257, 8, 24, causal=True),
    "more queries, causal": Case((2,), 257, 30, 8, 8, causal=True),
    "masked": Case((2, 2), 140, 90, 16, 16, mask=lower_left(140, 90)[None, None]),
    "masked row": Case((2, 2), 140, 90, 16, 16, mask=lower_left(2, 90)[1][None, None, None]),
    "masked column": Case((2,), 20, 9, 4, 4, mask=RANDOM.random((1, 20, 1))),
    "no batch": Case((), 7, 5, 3, 2),
    "one query": Case((3, 2), 1, 100, 16, 16),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("threads", [1, 2])
def test_values_and_gradients(name: str, threads: int) -> None:
    case, wanted = CASES[name], CASES[name].wanted()
    found = run(AttentionCall(case.spec(False, threads)), **case.given())
    saved = {"out": wanted["out"], "logarithms": found["logarithms"]}
    found |= run(AttentionCall(case.spec(True, threads)), **case.given(), **saved)
    for each, values in wanted.items():
        error = abs(found[each] - values).max() / max(abs(values).max(), 1)
        assert error < 3e-6, (each, error)


def test_heads_inside_one_matrix() -> None:
    """Queries, keys and values lie beside one another, heads inside a row, as models keep them."""
    batch, heads, length, size = 2, 3, 150, 8
    case = Case((batch, heads), length, length, size, size)
    width = 3 * heads * size
    inner = plain((batch, heads, length, size), float32, (length * width, size, width, 1))
    merged = (length * heads * size, size, heads * size, 1)
    layouts = dict.fromkeys(("query", "key", "value"), inner)
    out = plain(inner.shape, float32, merged)
    found = run(AttentionCall(case.spec(False, out=out, **layouts)), **case.given())
    wanted = case.wanted()
    numpy.testing.assert_allclose(found["out"], wanted["out"], rtol=0, atol=3e-6)
    saved = {"out": wanted["out"], "logarithms": found["logarithms"]}
    spec = case.spec(True, out=out, **layouts)
    found = run(AttentionCall(spec), **case.given(), **saved)
    for name in ("grad_query", "grad_key", "grad_value"):
        numpy.testing.assert_allclose(found[name], wanted[name], rtol=0, atol=1e-5)


def test_infinite_and_undefined_scores() -> None:
    """A row with NaN or plus infinity has no softmax; others are not touched."""
    case = Case((1,), 20, 20, 4, 4)
    case.query[0, 3] = numpy.nan
    case.query[0, 5] = numpy.inf
    found = run(AttentionCall(case.spec(False)), **case.given())["out"][0]
    assert numpy.isnan(found[[3, 5]]).all()
    rest = [row for row in range(20) if row not in (3, 5)]
    assert numpy.isfinite(found[rest]).all()


def test_scores_that_would_overflow() -> None:
    case = Case((1,), 10, 10, 4, 4)
    case.query *= 1e4
    found = run(AttentionCall(case.spec(False)), **case.given())["out"]
    numpy.testing.assert_allclose(found, case.wanted()["out"], atol=1e-3)


def test_threads_change_no_bit() -> None:
    case = CASES["causal"]
    found = [run(AttentionCall(case.spec(False, n)), **case.given())["out"] for n in (1, 2)]
    assert (found[0] == found[1]).all()


def test_memory_grows_with_a_block_only() -> None:
    """Scores of all pairs would take 64 MiB."""
    layout = dense(1, 4, 2048, 64)
    spec = Attention(layout, layout, layout, layout, gradients=(layout,) * 4, threads=2)
    assert AttentionCall(spec).scratchpad < 6 << 20


def test_estimates_and_when_it_pays() -> None:
    def spec(length: int, **options: Any) -> Attention:
        layout = dense(2, 4, length, 64)
        return Attention(layout, layout, layout, layout, **options)

    assert AttentionCall(spec(16)).flops == 4 * 2 * 4 * 16 * 16 * 64
    layout = dense(2, 4, 16, 64)
    assert spec(16, gradients=(layout,) * 4).flops == 10 * 2 * 4 * 16 * 16 * 64
    assert spec(512).pays and not spec(256).pays


def test_what_does_not_fit_is_refused() -> None:
    good, other = dense(2, 8, 4), dense(2, 9, 4)
    with pytest.raises(RuntimeError, match=r"attention: expected value of shape \(2, 8, 4\)"):
        Attention(good, good, other, good)
    with pytest.raises(RuntimeError, match=r"attention: expected query of float32"):
        wide = plain((2, 8, 4), float64)
        Attention(wide, wide, wide, wide)
    with pytest.raises(RuntimeError, match=r"attention: expected a mask that fits"):
        Attention(good, good, good, good, mask=dense(3, 8, 8))
