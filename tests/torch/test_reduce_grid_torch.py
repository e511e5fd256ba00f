"""Reductions, scans and sorting over a grid of shapes, dimensions and dtypes, torch as the oracle.

In: nothing. Out: a failure naming each call whose result or refusal differs. What torch cannot
compute for a dtype, the package may compute.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from tests.torch.oracle.compare import Comparison, Mismatch
from tests.torch.oracle.convert import convert
from tests.torch.oracle.subject import Subject, calls

import thunk

SUBJECT = Subject("thunk")
SHAPES = ((), (1,), (0,), (4,), (2, 0), (0, 2), (2, 3), (2, 1, 3))
ONE_DIM = (0, 1, -1, -2, 2, -4)
SOME_DIMS = ((), (0,), (0, 1), (-1, 0), (0, 0), (0, -2), (1, 2), (5,))
DTYPES = (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
    torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
)  # fmt: skip

OVER_DIMS = (
    "sum", "nansum", "mean", "nanmean", "amax", "amin", "all", "any", "std", "var", "var_mean",
    "std_mean", "count_nonzero", "linalg.vector_norm",
)  # fmt: skip
OVER_ONE = (
    "prod", "max", "min", "argmax", "argmin", "median", "nanmedian", "mode", "cumsum", "cumprod",
    "cummax", "cummin", "logcumsumexp", "sort", "argsort", "logsumexp",
)  # fmt: skip
OVER_ALL = (
    "sum", "mean", "prod", "max", "min", "argmax", "argmin", "median", "nanmedian", "all", "any",
    "std", "var", "amax", "amin", "aminmax", "unique", "unique_consecutive", "norm", "cov",
    "corrcoef", "diff", "trapezoid", "cumulative_trapezoid", "gradient", "msort",
)  # fmt: skip


def example(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Small whole numbers, with repetitions and a zero; halves where the dtype has them."""
    count = max(torch.Size(shape).numel(), 1)
    values = (torch.arange(count, dtype=torch.float64) * 7 + 3) % 5
    if dtype.is_floating_point or dtype.is_complex:
        values = values - 1.5
    values = values.to(dtype)
    if dtype.is_complex:
        values = values + 1j * values.flip(0)
    return values[: torch.Size(shape).numel()].reshape(shape)


def compare(name: str, *arguments: Any, **options: Any) -> str | None:
    """What differs between both libraries, or None."""

    def run(subject: Any, given: Any, chosen: Any) -> Any:
        function: Any = subject
        for part in name.split("."):
            function = getattr(function, part)
        return function(*given, **chosen)

    ours = convert(SUBJECT, (arguments, options))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, refusal = calls(run, torch, arguments, options)
        actual, complaint = calls(run, thunk, *ours)
    call = f"{name}({', '.join(map(_spelled, arguments))}, {options})"
    if refusal is not None:
        if isinstance(refusal, NotImplementedError) or isinstance(complaint, type(refusal)):
            return None
        return f"{call}: expected {refusal!r:.150}, got {complaint!r:.80} {actual!r:.80}"
    if complaint is not None:
        return f"{call}: expected a result, got {complaint!r:.200}"
    try:
        Comparison(SUBJECT).check(expected, actual)
    except Mismatch as mismatch:
        return f"{call}: {mismatch}"
    return None


def _spelled(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{list(value.shape)}"
    return repr(value)


def report(differences: Iterator[str | None]) -> None:
    found = [each for each in differences if each is not None]
    assert not found, f"{len(found)} calls differ:\n" + "\n".join(found[:20])


@pytest.mark.parametrize("name", OVER_DIMS)
def test_over_several_dimensions(name: str) -> None:
    def run() -> Iterator[str | None]:
        for shape, dim in itertools.product(SHAPES, (None, *ONE_DIM, *SOME_DIMS)):
            given = example(shape, torch.float64)
            if name != "count_nonzero":
                yield compare(name, given, dim=dim, keepdim=True)
            yield compare(name, given, dim=dim)

    report(run())


@pytest.mark.parametrize("name", OVER_ONE)
def test_over_one_dimension(name: str) -> None:
    keeps = not name.startswith(("cum", "logcum", "sort", "argsort"))

    def run() -> Iterator[str | None]:
        for shape, dim in itertools.product(SHAPES, ONE_DIM):
            given = example(shape, torch.float64)
            if name in ("cummax", "cummin") and not given.numel():
                continue  # torch forgets to check the dimension
            yield compare(name, given, dim)
            if keeps:
                yield compare(name, given, dim, keepdim=True)

    report(run())


@pytest.mark.parametrize("name", OVER_ALL)
def test_over_everything(name: str) -> None:
    report(compare(name, example(shape, torch.float64)) for shape in SHAPES)


@pytest.mark.parametrize("name", sorted({*OVER_DIMS, *OVER_ONE, *OVER_ALL}))
def test_dtypes(name: str) -> None:
    dim = (0,) if name in OVER_ONE else ()
    report(compare(name, example((4,), dtype), *dim) for dtype in DTYPES)


@pytest.mark.parametrize("name", ("sum", "mean", "nansum", "prod", "cumsum", "cumprod"))
def test_dtype_arguments(name: str) -> None:
    def run() -> Iterator[str | None]:
        for own, wanted in itertools.product(DTYPES, DTYPES):
            dim = () if name == "nansum" else (0,)
            yield compare(name, example((4,), own), *dim, dtype=wanted)

    report(run())


NAN = float("nan")
INF = float("inf")
SPECIAL = (
    [NAN, 1.0, NAN, 0.0], [1.0, NAN, 3.0, INF], [-INF, NAN, INF, -INF], [0.0, -0.0, 0.0, -0.0],
    [INF, INF, 1.0, 1.0], [-INF, -INF, -INF, -INF], [NAN, NAN, NAN, NAN],
)  # fmt: skip


# The mode of NaN is unspecified.
@pytest.mark.parametrize("name", sorted({*OVER_DIMS, *OVER_ONE} - {"mode"}))
def test_special_values(name: str) -> None:
    rows = SPECIAL[:-1] if name == "nanmedian" else SPECIAL  # the index of no number
    given = torch.tensor(rows, dtype=torch.float64)
    report(compare(name, each, dim) for each in (given, given.flip(1)) for dim in (0, 1))


ORDERS = (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1, -2.5)


def test_orders_of_norms() -> None:
    given = (example((3, 4), torch.float64), torch.tensor(SPECIAL), torch.zeros(2, 3))
    report(
        compare(name, each, order, dim)
        for name in ("norm", "linalg.vector_norm")
        for each, order, dim in itertools.product(given, ORDERS, (None, 0, (0, 1)))
    )


def cases_of_order() -> Iterator[tuple[Any, ...]]:
    for dtype in (torch.float32, torch.int16):
        given = example((3, 5), dtype)
        for descending, dim in itertools.product((False, True), (0, 1)):
            yield "sort", (given,), {"stable": True, "dim": dim, "descending": descending}
        yield "searchsorted", (given.sort().values, given), {}
        yield "searchsorted", (given.sort().values, given), {"right": True}
        yield "searchsorted", (given, given), {"sorter": given.argsort()}
        yield "bucketize", (given, torch.tensor([0, 1, 3]).to(dtype)), {"out_int32": True}
        yield "bucketize", (2, torch.tensor([0, 1, 3]).to(dtype)), {}
        yield "isin", (given, torch.tensor([0, 3]).to(dtype)), {"invert": True}
        yield "isin", (given, 3), {}
        yield "isin", (3, given), {}
        for flags in itertools.product((False, True), repeat=2):
            chosen = {"return_inverse": flags[0], "return_counts": flags[1]}
            for dim in (None, 0, -1):
                yield "unique", (given,), {**chosen, "dim": dim}
                yield "unique_consecutive", (given.sort().values,), {**chosen, "dim": dim}


def test_order() -> None:
    report(compare(name, *given, **options) for name, given, options in cases_of_order())


def test_nan_in_order() -> None:
    given = torch.tensor([NAN, 1.0, INF, NAN, -INF, 1.0])
    many: tuple[tuple[str, Callable[[], dict[str, Any]]], ...] = (
        ("sort", lambda: {"descending": True}), ("sort", dict), ("unique", dict),
        ("unique", lambda: {"return_counts": True, "return_inverse": True}),
    )  # fmt: skip
    report(compare(name, given, **options()) for name, options in many)
    report(compare("kthvalue", given, k) for k in (1, 4))
    values = given.sort().values
    report(compare("searchsorted", values, given, right=flag) for flag in (True, False))


@pytest.mark.parametrize("interpolation", ("linear", "lower", "higher", "midpoint", "nearest"))
@pytest.mark.parametrize("name", ("quantile", "nanquantile"))
def test_quantiles(name: str, interpolation: str) -> None:
    plain = example((3, 4), torch.float64)
    some = torch.tensor([0.0, 0.3, 1.0], dtype=torch.float64)
    report(
        compare(name, given, q, dim, keepdim, interpolation=interpolation)
        for given in (plain, torch.tensor(SPECIAL, dtype=torch.float64))
        for q, dim, keepdim in itertools.product((0.5, 0.3, some), (None, 0, -1), (False, True))
    )


def test_counting() -> None:
    whole = torch.tensor([1, 4, 1, 0])
    points = torch.tensor([[0.5, 1.0], [1.5, 0.25], [3.0, 1.0], [0.5, 0.0]])
    weight = torch.tensor([1.0, 0.5, 2.0, 3.0])
    report(
        compare(*call[:-1], **call[-1])
        for call in (
            ("bincount", whole, {}),
            ("bincount", whole, {"weights": weight, "minlength": 8}),
            ("bincount", whole, {"weights": whole}),
            ("bincount", whole[:0], {"minlength": 3}),
            ("bincount", -whole, {}),
            ("bincount", whole.reshape(2, 2), {}),
            ("histc", weight, {"bins": 3}),
            ("histc", weight, {"bins": 4, "min": 0.5, "max": 3}),
            ("histc", weight[:1], {"bins": 3}),
            ("histc", weight, {"bins": 3, "min": 2, "max": 1}),
            ("histogram", weight, 4, {}),
            ("histogram", weight, 4, {"range": (0.0, 2.0), "density": True}),
            ("histogram", weight, torch.tensor([0.0, 1.0, 5.0]), {"weight": weight}),
            ("histogram", weight, 0, {}),
            ("histogramdd", points, [2, 3], {}),
            ("histogramdd", points, 3, {"weight": weight, "density": True}),
            ("histogramdd", points, [torch.tensor([0.0, 1.0, 2.0])] * 2, {}),
            ("histogramdd", points, [2], {}),
        )
    )


def test_integrals_and_differences() -> None:
    y = example((3, 4), torch.float64)
    x = torch.tensor([0.0, 1.0, 3.0, 3.5], dtype=torch.float64)
    report(
        compare(*call[:-1], **call[-1])
        for call in (
            ("trapezoid", y, x, {}),
            ("trapezoid", y, x[:3], {"dim": 0}),
            ("trapezoid", y, x, {"dim": 0}),
            ("trapezoid", y, {"dx": 2, "dim": 0}),
            ("trapz", y, {"dx": 0.5}),
            ("cumulative_trapezoid", y, x, {}),
            ("cumulative_trapezoid", y, {"dx": 2, "dim": 0}),
            ("diff", y, {"n": 2}),
            ("diff", y, {"n": 9, "dim": 0}),
            ("diff", y, {"n": 0}),
            ("diff", y, {"prepend": y[:1], "dim": 0, "append": y[:2]}),
            ("diff", y, {"prepend": y[:1]}),
            ("gradient", y, {"spacing": 2.0}),
            ("gradient", y, {"spacing": 2.0, "dim": 1, "edge_order": 2}),
            ("gradient", y, {"spacing": (x[:3], x), "edge_order": 2}),
            ("gradient", y, {"spacing": (x,), "dim": (1,)}),
            ("gradient", y, {"spacing": [2.0, 3], "dim": (1, 0)}),
            ("gradient", y, {"spacing": [2.0]}),
            ("gradient", y, {"dim": (0, 1)}),
            ("gradient", y, {"edge_order": 3}),
            ("gradient", y[:1], {"dim": 0}),
        )
    )


def test_covariance() -> None:
    rows = example((3, 4), torch.float64)
    counts, weights = torch.tensor([1, 2, 0, 1]), torch.tensor([0.5, 1.0, 2.0, 0.0])
    report(
        compare("cov", rows, **options)
        for options in (
            {"correction": 0}, {"correction": 5}, {"fweights": counts}, {"aweights": weights},
            {"fweights": counts, "aweights": weights}, {"fweights": -counts},
            {"fweights": counts[:2]}, {"fweights": weights}, {"aweights": weights * 0},
        )
    )  # fmt: skip
