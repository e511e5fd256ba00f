"""Lowerings of softmax, norms, products, look-ups, losses and copies against reference rules."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

from graphs import Recorder, agree, compiled

BFLOAT16 = ml_dtypes.bfloat16
FLOATS = ["f4", "f8", BFLOAT16]
random = numpy.random.default_rng(5)


def values(dtype: Any, *shape: int) -> numpy.ndarray:
    return numpy.asarray(random.normal(size=shape) * 3).astype(dtype)


def places(high: int, *shape: int) -> numpy.ndarray:
    return random.integers(0, high, shape)


def name_of(dtype: Any) -> str:
    return numpy.dtype(dtype).name


def run(call: Any, tolerance: float = 1e-5, lowered: bool = True) -> Any:
    recorder = Recorder()
    found = call(recorder)
    outputs = found if isinstance(found, (tuple, list)) else (found,)
    recorder.outputs(*[each for each in outputs if each.spec is not None])
    program = agree(recorder, tolerance)
    assert bool(program.schedule.fallbacks) is not lowered
    return program


ROWS = [((64, 10), 1), ((4, 300), -1), ((4, 3000), -1), ((3, 5, 7), 1), ((5, 6), 0), ((1, 1), 1)]


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("shape, dim", ROWS, ids=str)
def test_softmax(dtype: Any, shape: tuple[int, ...], dim: int) -> None:
    for name in ("_softmax", "_log_softmax"):
        program = run(lambda r, n=name: r.call(n, r.input(values(dtype, *shape)), dim, False))
        assert len(program.schedule.nests) == 1

    def backward(r: Recorder) -> list[Any]:
        grad, output = r.input(values(dtype, *shape)), r.input(values(dtype, *shape) / 3)
        names = ("_softmax_backward_data", "_log_softmax_backward_data")
        return [r.call(name, grad, output, dim, grad.spec.dtype) for name in names]

    run(backward, 1e-3)


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("shape, inner", [((6, 10), 1), ((2, 3, 300), 1), ((2, 4, 5), 2)], ids=str)
def test_layer_norm(dtype: Any, shape: tuple[int, ...], inner: int) -> None:
    own = shape[-inner:]

    def forward(r: Recorder) -> Any:
        weight, bias = r.input(values(dtype, *own)), r.input(values(dtype, *own))
        value = r.input(values(dtype, *shape))
        return r.call("native_layer_norm", value, own, weight, bias, r.number(1e-5))

    program = run(forward, 1e-4)
    assert len(program.schedule.nests) == 1
    if dtype == BFLOAT16:
        return
    array = values(dtype, *shape)
    axes = tuple(range(len(shape) - inner, len(shape)))
    mean = array.mean(axes, keepdims=True)
    rstd = 1 / numpy.sqrt(array.var(axes, keepdims=True) + 1e-5)

    def backward(r: Recorder) -> Any:
        operands = [values(dtype, *shape), array]
        grad, value = (r.input(each) for each in operands)
        rows = [r.input(each.astype(dtype)) for each in (mean, rstd)]
        weight = r.input(values(dtype, *own))
        mask = (True, True, True)
        return r.call("native_layer_norm_backward", grad, value, own, *rows, weight, weight, mask)

    run(backward, 1e-3)


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("shape", [(4, 3, 5, 5), (8, 6), (2, 16, 8, 8), (4, 5, 7)], ids=str)
def test_batch_norm(dtype: Any, shape: tuple[int, ...]) -> None:
    channels = shape[1]

    def forward(r: Recorder, training: bool) -> Any:
        rows = [r.input(numpy.abs(values("f4", channels))) for _ in range(4)]
        value = r.input(values(dtype, *shape))
        name = "_native_batch_norm_legit_functional"
        return r.call(name, value, *rows, training, r.number(0.1), r.number(1e-5))

    run(lambda r: forward(r, True), 1e-4)
    run(lambda r: forward(r, False), 1e-4)
    if dtype == BFLOAT16:
        return

    def backward(r: Recorder) -> Any:
        grad, value = r.input(values(dtype, *shape)), r.input(values(dtype, *shape))
        rows = [r.input(numpy.abs(values(dtype, channels))) for _ in range(5)]
        mask = (True, True, True)
        return r.call("native_batch_norm_backward", grad, value, *rows, True, 1e-5, mask)

    run(backward, 1e-3)


def test_group_norm() -> None:
    def forward(r: Recorder) -> Any:
        weight, bias = r.input(values("f4", 6)), r.input(values("f4", 6))
        value = r.input(values("f4", 2, 6, 4, 4))
        return r.call("native_group_norm", value, weight, bias, 2, 6, 16, 3, 1e-5)

    def backward(r: Recorder) -> Any:
        grad, value = r.input(values("f4", 2, 6, 4, 4)), r.input(values("f4", 2, 6, 4, 4))
        rows = [r.input(values("f4", 2, 3)) for _ in range(2)]
        weight, mask = r.input(values("f4", 6)), (True, True, True)
        name = "native_group_norm_backward"
        return r.call(name, grad, value, *rows, weight, 2, 6, 16, 3, mask)

    run(forward, 1e-4)
    run(backward, 1e-3)


@pytest.mark.parametrize("dtype", FLOATS, ids=name_of)
@pytest.mark.parametrize("rows, inner, columns", [(5, 7, 9), (64, 128, 10), (1, 3, 1)])
def test_products(dtype: Any, rows: int, inner: int, columns: int) -> None:
    def calls(r: Recorder) -> list[Any]:
        left, right = r.input(values(dtype, rows, inner)), r.input(values(dtype, inner, columns))
        turned = r.call("t", r.input(values(dtype, columns, inner)))
        bias, weight = r.input(values(dtype, columns)), r.input(values(dtype, columns, inner))
        return [
            r.call("mm", left, right),
            r.call("mm", left, turned),
            r.call("addmm", bias, left, right),
            r.call("addmm", bias, left, right, beta := r.number(0.5), 2),
            r.call("addmm", bias, left, right, beta, r.number(0.0)),
            r.call("linear", r.input(values(dtype, 2, rows, inner)), weight, bias),
            r.call("linear", r.call("t", r.input(values(dtype, inner, rows))), weight),
            r.call("mv", left, r.input(values(dtype, inner))),
            r.call("dot", bias, r.input(values(dtype, columns))),
            r.call("bmm", r.input(values(dtype, 3, rows, inner)),
                   r.input(values(dtype, 3, inner, columns))),
        ]  # fmt: skip

    run(calls, 1e-3 if dtype != BFLOAT16 else 3e-2)


@pytest.mark.parametrize("dtype", ["i8", "i4", "u1"], ids=name_of)
def test_integer_products_are_loops(dtype: Any) -> None:
    def calls(r: Recorder) -> list[Any]:
        left, right = (r.input(places(9, *shape).astype(dtype)) for shape in ((3, 4), (4, 5)))
        batches = [r.input(places(9, 2, *shape).astype(dtype)) for shape in ((3, 4), (4, 5))]
        vector = r.input(places(9, 4).astype(dtype))
        return [r.call("mm", left, right), r.call("bmm", *batches), r.call("mv", left, vector)]

    run(calls)


def test_large_integer_products_call_back() -> None:
    side = 260
    pair = [places(9, side, side) for _ in range(2)]
    program = run(lambda r: r.call("mm", *[r.input(each) for each in pair]), lowered=False)
    assert program.schedule.fallbacks == {"aten::mm": 1}


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"], ids=name_of)
def test_look_ups_and_scatters(dtype: Any) -> None:
    def calls(r: Recorder) -> list[Any]:
        table, wide = r.input(values(dtype, 20, 33)), r.input(values(dtype, 7, 9))
        cube = r.input(values(dtype, 7, 9, 5))
        found = [
            r.call("embedding", table, r.input(places(20, 4, 5))),
            r.call("_index", cube, (None, r.input(places(9, 3, 4) - 4), r.input(places(5, 4)))),
            r.call("_index", cube, (r.input(places(7, 3, 4)), None, r.input(places(5, 4)))),
            r.call("take", wide, r.input(places(63, 5) - 10)),
        ]
        for dim in (0, 1):
            some, source = r.input(places(7, 6, 5)), r.input(values(dtype, 6, 9))
            found += [
                r.call("index_select", wide, dim, r.input(places(7, 5))),
                r.call("gather", wide, dim, r.input(places(7, 7, 5))),
                r.call("scatter_add", wide, dim, some, source),
                r.call("scatter.src", wide, dim, some, source),
                r.call("scatter.value", wide, dim, some, r.number(2)),
                r.call("index_add", cube, dim, r.input(places(7, 4)), r.input(
                    values(dtype, *((4, 9, 5) if dim == 0 else (7, 4, 5)))), r.number(2)),
                r.call("index_copy", r.input(values(dtype, 9, 9)), dim,
                       r.input(random.permutation(9)), r.input(values(dtype, 9, 9))),
            ]  # fmt: skip
        return found

    run(calls, 1e-4)


def test_gradient_of_a_table() -> None:
    run(
        lambda r: r.call(
            "embedding_dense_backward", r.input(values("f4", 4, 5, 33)),
            r.input(places(20, 4, 5)), 20, 2, False,
        ),
        1e-4,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["embedding", "index_select", "gather"])
def test_bad_index_raises(name: str) -> None:
    recorder = Recorder()
    table, wrong = recorder.input(values("f4", 20, 3)), numpy.array([1, 20, 3])
    args = {
        "embedding": (table, recorder.input(wrong)),
        "index_select": (table, 0, recorder.input(wrong)),
        "gather": (table, 0, recorder.input(wrong.reshape(1, 3))),
    }[name]
    recorder.outputs(recorder.call(name, *args))
    with pytest.raises(RuntimeError if name == "gather" else IndexError, match=name):
        compiled(recorder)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighed", [False, True])
def test_losses(reduction: int, weighed: bool) -> None:
    targets = places(10, 6)
    targets[1] = -100

    def calls(r: Recorder) -> list[Any]:
        scores, target = r.input(values("f4", 6, 10)), r.input(targets)
        weight = r.input(numpy.abs(values("f4", 10))) if weighed else None
        image, marks = r.input(values("f4", 3, 10, 4, 4)), r.input(places(10, 3, 4, 4))
        grad = r.input(values("f4", *((6,) if reduction == 0 else ())))
        total = r.input(numpy.abs(values("f4")))
        share, other = r.input(random.random((6, 10), "f4")), r.input(random.random((6, 10), "f4"))
        return [
            *r.call("nll_loss_forward", scores, target, weight, reduction, -100),
            *r.call("nll_loss2d_forward", image, marks, weight, reduction, -100),
            r.call("nll_loss_backward", grad, scores, target, weight, reduction, -100, total),
            r.call("binary_cross_entropy", share, other, None, reduction),
        ]

    run(calls, 1e-4)


@pytest.mark.parametrize("dtype", [*FLOATS, "i4"], ids=name_of)
def test_copies_and_windows(dtype: Any) -> None:
    def calls(r: Recorder) -> list[Any]:
        wide = r.input(values(dtype, 10, 10))
        first, second = r.input(values(dtype, 3, 4)), r.input(values(dtype, 2, 4))
        return [
            r.call("cat", (first, second, r.input(values(dtype, 0, 4))), 0),
            r.call("cat", (first, r.input(values(dtype, 3, 7))), 1),
            r.call("constant_pad_nd", first, (1, 2, -1, 3), r.number(2)),
            r.call("flip", wide, (0, 1)),
            r.call("triu", wide, 2),
            r.call("tril", wide, -1),
            r.call("as_strided_scatter", wide, first, (3, 4), (10, 2), 5),
            r.call("slice_scatter", wide, r.input(values(dtype, 3, 10)), 0, 1, 7, 2),
            r.call("select_scatter", wide, r.input(values(dtype, 10)), 1, -2),
            r.call("arange.start_step", 3, 40, 4),
            r.call("_reshape_copy", r.call("t", wide), (4, 25)),
        ]

    run(calls)


def test_update_of_a_parameter_is_one_kernel() -> None:
    def adam(r: Recorder) -> Any:
        operands = [r.input(numpy.abs(values("f4", 3, 40))) for _ in range(4)]
        numbers = [r.number(each) for each in (1e-3, 0.1, 0.999, 0.001, 0.03, 1e-8, 0.01)]
        return r.call("_adam_update", *operands, *numbers, None, False)

    assert len(run(adam, 1e-4).schedule.steps) == 1


def test_parameters_of_group_norm_may_be_strided() -> None:
    def calls(r: Recorder) -> Any:
        weight, bias = (
            r.call("slice.Tensor", r.input(values("f4", 12)), 0, 0, None, 2) for _ in range(2)
        )
        return r.call("native_group_norm", r.input(values("f4", 2, 6, 3)), weight, bias, 2, 6, 3,
                      2, r.number(1e-5))  # fmt: skip

    run(calls, 1e-4)
