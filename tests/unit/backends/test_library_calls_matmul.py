"""Matrix products against NumPy in float64: shapes, strides, batches, element types, post-ops."""

from collections.abc import Iterator

import numpy
import pytest

from library_calls import rounded, run
from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.calls.specs import Accumulate, AddOperand, Matmul, PostOp, Relu, matmul
from thunk.base.config import config
from thunk.types.dtype import bfloat16, dtype, float16, float32, float64

RANDOM = numpy.random.default_rng(0)
BLAS = {"oneDNN": "auto", "own": "own", "numpy": "numpy"}
TOLERANCE = {float64: 1e-14, float32: 2e-6, bfloat16: 8e-3, float16: 1e-3}


@pytest.fixture(autouse=True, params=["oneDNN", "own", "numpy"])
def provider(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test runs on the library, on own kernels, and on the BLAS of NumPy."""
    with config.override(onednn=request.param == "oneDNN", blas=BLAS[request.param]):
        yield request.param


def matrix(*shape: int, dtype: dtype = float32, transposed: bool = False) -> Layout:
    layout = plain(shape, dtype)
    if transposed:
        return plain((*shape[:-2], shape[-1], shape[-2]), dtype).transposed()
    return layout


def sample(layout: Layout) -> numpy.ndarray:
    """Values that `layout` can hold: the same ones wherever its stride is 0."""
    pairs = zip(layout.shape, layout.strides or layout.shape)
    own = [1 if stride == 0 else extent for extent, stride in pairs]
    return numpy.broadcast_to(rounded(RANDOM.standard_normal(own), layout), layout.shape)


def check(spec: Matmul, **others: numpy.ndarray) -> None:
    left, right = sample(spec.left), sample(spec.right)
    wanted = numpy.matmul(left, right)
    scale = numpy.matmul(abs(left), abs(right)).max(initial=1)
    given = {"left": left, "right": right, **others}
    if spec.bias is not None:
        given["bias"] = rounded(RANDOM.standard_normal(spec.bias.shape), spec.bias)
        wanted = wanted + given["bias"]
    before = given["out"] = rounded(RANDOM.standard_normal(spec.out.shape), spec.out)
    position = 0
    for post in spec.post:
        if isinstance(post, Relu):
            wanted = numpy.maximum(wanted, 0)
        elif isinstance(post, Accumulate):
            wanted = wanted + before
        else:
            added = rounded(RANDOM.standard_normal(post.layout.shape), post.layout)
            given[f"added{position}"] = added
            wanted = wanted + added
            position += 1
    call = build(spec)
    found = run(call, **given)["out"]
    assert found.shape == wanted.shape
    error = abs(found - wanted).max(initial=0) / scale
    assert error < TOLERANCE[spec.out.dtype], (error, str(call))


@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [(1, 1, 1), (1, 64, 10), (64, 784, 128), (3, 5, 7), (17, 33, 65), (64, 64, 10), (2, 300, 1)],
)
@pytest.mark.parametrize("transposed", ["", "left", "right", "both"])
@pytest.mark.parametrize("threads", [1, 2])
def test_shapes_and_transposes(
    rows: int, inner: int, columns: int, transposed: str, threads: int
) -> None:
    left = matrix(rows, inner, transposed=transposed in ("left", "both"))
    right = matrix(inner, columns, transposed=transposed in ("right", "both"))
    check(matmul(left, right, matrix(rows, columns), threads=threads))


@pytest.mark.parametrize(
    ("left", "right", "out"),
    [
        ((4, 5, 6), (4, 6, 7), (4, 5, 7)),
        ((4, 5, 6), (6, 7), (4, 5, 7)),
        ((5, 6), (4, 6, 7), (4, 5, 7)),
        ((2, 1, 5, 6), (1, 3, 6, 7), (2, 3, 5, 7)),
        ((2, 3, 1, 6), (2, 3, 6, 1), (2, 3, 1, 1)),
    ],
)
def test_batches(left: tuple[int, ...], right: tuple[int, ...], out: tuple[int, ...]) -> None:
    check(matmul(matrix(*left), matrix(*right), matrix(*out), threads=2))


def test_heads_inside_a_row() -> None:
    """Attention reads its heads out of one matrix of queries, keys and values."""
    batch, length, heads, size = 2, 17, 3, 8
    width = 3 * heads * size
    strides = (length * width, size, width, 1)
    queries = plain((batch, heads, length, size), float32, strides)
    check(matmul(queries, queries.transposed(), matrix(batch, heads, length, length), threads=2))
    merged = plain(queries.shape, float32, (length * heads * size, size, heads * size, 1))
    scores = matrix(batch, heads, length, length)
    check(matmul(scores, queries, merged, threads=2))


def test_a_broadcast_stride_is_an_extent_of_one() -> None:
    expanded = plain((4, 6, 7), float32, (0, 7, 1))
    spec = matmul(matrix(4, 5, 6), expanded, matrix(4, 5, 7))
    assert spec.right.shape == (1, 6, 7)
    check(spec)


@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [(2, 1, 3), (1, 3, 2), (1, 1, 3), (5, 6, 7), (64, 48, 40)]
)
@pytest.mark.parametrize("left", [(0, 0), (0, 1), (1, 0), None])
@pytest.mark.parametrize("right", [(0, 0), (0, 1), (1, 0), None])
def test_strides_of_zero_inside_a_matrix(
    rows: int, inner: int, columns: int, left: tuple[int, int], right: tuple[int, int]
) -> None:
    """The gradient of a sum is one number, expanded; that of a weight multiplies with it."""
    operands = (
        plain(shape, float32, strides) for shape, strides in
        (((rows, inner), left), ((inner, columns), right))
    )  # fmt: skip
    check(matmul(*operands, matrix(rows, columns)))


@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("threads", [1, 2])
def test_windows_that_overlap(size: int, threads: int) -> None:
    """Rows that begin one element apart, as `unfold` gives them."""
    series = RANDOM.standard_normal(4 * size).astype("f4")
    windows = numpy.lib.stride_tricks.sliding_window_view(series, size)[: 2 * size]
    lying = plain(windows.shape, float32, (1, 1))
    dense, other = matrix(*windows.shape), matrix(size, 30)
    values, columns = sample(dense), sample(other)
    for left, right, first, second in (
        (lying, other, windows, columns),
        (lying, matrix(size, 30, transposed=True), windows, columns),
        (dense.transposed(), lying, values.T, windows),
        (dense, lying.transposed(), values, windows.T),
    ):
        out = matrix(left.shape[0], right.shape[1])
        found = run(build(matmul(left, right, out, threads=threads)), left=first, right=second)
        wanted = first.astype("f8") @ second
        numpy.testing.assert_allclose(found["out"], wanted, rtol=0, atol=2e-4)


@pytest.mark.parametrize("element", [bfloat16, float16])
@pytest.mark.parametrize("result", ["same", "float32"])
def test_half_precision(element: dtype, result: str) -> None:
    out = matrix(33, 20, dtype=element if result == "same" else float32)
    spec = matmul(matrix(33, 40, dtype=element), matrix(40, 20, dtype=element), out)
    check(spec)


POSTS: list[tuple[PostOp, ...]] = [
    (),
    (Relu(),),
    (Accumulate(),),
    (Accumulate(), Relu()),
    (AddOperand(matrix(12, 20)),),
    (AddOperand(matrix(1, 20)), Relu()),
    (Relu(), AddOperand(matrix(12, 20)), AddOperand(matrix(12, 20))),
]


@pytest.mark.parametrize("post", POSTS, ids=lambda post: "-".join(type(p).__name__ for p in post))
@pytest.mark.parametrize("bias", [False, True])
def test_post_ops(post: tuple[PostOp, ...], bias: bool) -> None:
    row = matrix(20) if bias else None
    check(matmul(matrix(12, 9), matrix(9, 20), matrix(12, 20), row, post, threads=2))


def test_relu_keeps_nan_and_makes_positive_zeros() -> None:
    left = numpy.array([[numpy.nan], [numpy.inf], [-numpy.inf], [-1.0], [0.0], [2.0]])
    call = build(matmul(matrix(6, 1), matrix(1, 1), matrix(6, 1), post=(Relu(),)))
    found = run(call, left=left, right=numpy.ones((1, 1)))["out"][:, 0]
    wanted = [numpy.nan, numpy.inf, 0.0, 0.0, 0.0, 2.0]
    numpy.testing.assert_array_equal(found, wanted)
    assert not numpy.signbit(found[1:]).any()


def test_infinities_meet_as_in_arithmetic() -> None:
    left = numpy.array([[numpy.inf, 1.0], [0.0, 1.0]])
    right = numpy.array([[-numpy.inf, 0.0], [1.0, numpy.nan]])
    call = build(matmul(matrix(2, 2), matrix(2, 2), matrix(2, 2)))
    with numpy.errstate(invalid="ignore"):
        numpy.testing.assert_array_equal(run(call, left=left, right=right)["out"], left @ right)


def test_a_product_that_does_not_fit_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"matmul: expected matrices that fit"):
        matmul(matrix(2, 3), matrix(4, 5), matrix(2, 5))
    with pytest.raises(RuntimeError, match=r"matmul: expected a bias of shape \(5,\)"):
        matmul(matrix(2, 3), matrix(3, 5), matrix(2, 5), matrix(4))


def test_estimates() -> None:
    call = build(matmul(matrix(8, 16), matrix(16, 4), matrix(8, 4), matrix(4)))
    assert call.flops == 2 * 8 * 16 * 4
    assert call.nbytes == 4 * (8 * 16 + 16 * 4 + 8 * 4 + 4)
    accumulating = build(
        matmul(matrix(8, 16), matrix(16, 4), matrix(8, 4), post=(Accumulate(),))
    )
    assert accumulating.nbytes == 4 * (8 * 16 + 16 * 4 + 2 * 8 * 4)
    assert [each.access for each in accumulating.operands[:3]] == ["read", "read", "update"]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("post", [(), (Accumulate(), Relu()), (Relu(), Accumulate())])
def test_float64(transposed: bool, post: tuple[PostOp, ...]) -> None:
    left = matrix(3, 20, 30, dtype=float64)
    right = matrix(30, 40, dtype=float64, transposed=transposed)
    out = matrix(3, 20, 40, dtype=float64)
    check(matmul(left, right, out, matrix(40, dtype=float64), post, threads=2))


@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0), (1, 0, 1)]
)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_nothing(rows: int, inner: int, columns: int, bias: bool, transposed: bool) -> None:
    """An empty sum is zero, and is written."""
    right = matrix(inner, columns, transposed=transposed)
    row = matrix(columns) if bias else None
    check(matmul(matrix(rows, inner), right, matrix(rows, columns), row))


def test_a_result_whose_columns_lie_apart() -> None:
    check(matmul(matrix(6, 9), matrix(9, 8), matrix(6, 8, transposed=True)))
    apart = plain((6, 8), float32, (20, 2))
    check(matmul(matrix(6, 9), matrix(9, 8), apart, matrix(8), (Relu(),)))


def test_mixed_element_types() -> None:
    out = matrix(6, 8, dtype=float64)
    check_spec = matmul(matrix(6, 9, dtype=float64), matrix(9, 8, dtype=float64), out, matrix(8))
    check(check_spec)


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("inner", [1, 15, 64, 257])
@pytest.mark.parametrize("transposed", [False, True])
def test_few_rows(rows: int, inner: int, transposed: bool) -> None:
    """The products of a decoder that makes one word at a time."""
    right = matrix(inner, 130, transposed=transposed)
    check(matmul(matrix(rows, inner), right, matrix(rows, 130), matrix(130), threads=2))


def test_large_products_go_to_the_library(provider: str) -> None:
    size = 400
    spec = matmul(matrix(size, size), matrix(size, size, transposed=True), matrix(size, size))
    wanted = {"oneDNN": "brg", "own": "own packed", "numpy": "BLAS of numpy"}[provider]
    assert build(spec).implementation.startswith(wanted)
    check(spec)


def test_small_products_do_not_fork() -> None:
    small = matmul(matrix(64, 64), matrix(64, 10), matrix(64, 10), threads=2)
    assert build(small).threads == 1
    large = matmul(matrix(64, 784), matrix(784, 128), matrix(64, 128), threads=2)
    assert build(large).threads == 2
