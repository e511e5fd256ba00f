"""Philox: the paper's known answers, and compiled code with the same bits as NumPy's."""

import ctypes
from functools import cache
from typing import Any

import numpy
import pytest
from llvmlite import ir

import vector_kernels
from thunk.backends.cpu.llvm import philox as compiled
from thunk.backends.cpu.llvm.math.target import emitting_for
from thunk.runtime.random import philox

I64 = ir.IntType(64)
FULL = 0xFFFFFFFF
SEEDS = [(0, 0), (1234567890123456789, 3), (2**64 - 1, 2**64 - 1), (7, 2**33 + 5)]
NARROW = vector_kernels.host_features(("avx512", "amx", "avx10", "fma"))
KINDS = {
    "words": numpy.uint32, "scattered": numpy.uint32, "uniform_single": numpy.float32,
    "uniform_double": numpy.float64, "bernoulli": numpy.bool_, "normal_single": numpy.float32,
    "normal_double": numpy.float64,
}  # fmt: skip


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((FULL, FULL, FULL, FULL), (FULL, FULL), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_known_answers_of_the_paper(
    counter: tuple[int, ...], key: tuple[int, int], answer: str
) -> None:
    words = philox.blocks(numpy.array([counter], numpy.uint32), key)[0]
    assert " ".join(f"{word:08x}" for word in words) == answer


def result_of(kind: str, builder: Any, stream: compiled.Stream, index: Any, limit: Any) -> Any:
    """Numbers from element `index` on."""
    if kind == "scattered":
        places = ir.VectorType(I64, stream.count)
        start = compiled._splat(builder, index, stream.count).value
        steps = ir.Constant(places, list(range(stream.count)))
        return stream.scattered(builder, builder.add(start, steps))
    doubled = kind.endswith("double")
    words = stream.consecutive(builder, builder.mul(index, I64(2)) if doubled else index)
    if kind == "words":
        return words
    if kind == "bernoulli":
        return builder.zext(
            compiled.bernoulli(builder, words, limit), ir.VectorType(ir.IntType(8), stream.count)
        )
    return getattr(compiled, kind)(builder, words)


@cache
def compiled_code(kind: str, words: int, narrow: bool) -> tuple[Any, Any]:
    features = NARROW if narrow else vector_kernels.host_features()
    dtype = numpy.dtype(KINDS[kind])
    width = words // 2 if kind.endswith("double") else words
    module = vector_kernels.new_module()
    pointer = ir.PointerType()
    form = ir.FunctionType(ir.VoidType(), [pointer, I64, I64, ir.DoubleType(), I64, I64])
    function = ir.Function(module, form, "run")
    prepared: list[Any] = []

    def before(builder: Any) -> None:
        limit = compiled.bernoulli_limit(builder, function.args[3])
        prepared.extend([compiled.Stream(builder, *function.args[1:3], words), limit])

    def body(builder: Any, index: Any) -> None:
        stream, limit = prepared
        result = result_of(kind, builder, stream, builder.add(index, function.args[5]), limit)
        place = builder.mul(index, I64(dtype.itemsize))
        place = builder.gep(function.args[0], [place], source_etype=ir.IntType(8))
        builder.store(result, place, align=1)

    with emitting_for(features):
        vector_kernels.counted_loop(function, function.args[4], width, body, before)
    code = vector_kernels.Compiled(module, features)
    native = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_double,
        ctypes.c_int64, ctypes.c_int64,
    )(code.address("run"))  # fmt: skip
    return native, code


def run(
    kind: str, seed: int, offset: int, count: int, words: int, p: float = 0.3,
    narrow: bool = False, first: int = 0,
) -> Any:  # fmt: skip
    """`count` numbers by compiled code, `words` words at a time."""
    native, _ = compiled_code(kind, words, narrow)
    out = numpy.empty(count, KINDS[kind])
    native(out.ctypes.data, seed, offset, p, count, first)
    return out


def reference(kind: str, seed: int, offset: int, count: int, p: float = 0.3, first: int = 0) -> Any:
    if kind in ("words", "scattered"):
        return philox.words_from(seed, offset, first, count)
    if kind == "bernoulli":
        return philox.bernoulli(seed, offset, p, count, first)
    return getattr(philox, kind)(seed, offset, count, first)


@pytest.mark.parametrize("narrow", [False, True], ids=["this machine", "narrow"])
@pytest.mark.parametrize("words", [4, 8, 16, 32])
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_code_has_the_bits_of_numpy(kind: str, words: int, narrow: bool) -> None:
    for seed, offset in SEEDS:
        result = run(kind, seed, offset, 4096, words, narrow=narrow)
        numpy.testing.assert_array_equal(result, reference(kind, seed, offset, 4096))


@pytest.mark.parametrize("kind", KINDS)
def test_elements_do_not_depend_on_where_work_begins(kind: str) -> None:
    whole = reference(kind, 5, 9, 1000)
    for first, count in ((0, 7), (3, 10), (500, 500), (999, 1)):
        numpy.testing.assert_array_equal(
            reference(kind, 5, 9, count, first=first), whole[first : first + count]
        )
    late = run(kind, 5, 9, 64, 16, first=2**40)
    numpy.testing.assert_array_equal(late, reference(kind, 5, 9, 64, first=2**40))


@pytest.mark.parametrize("p", [0.0, 2.0**-33, 0.25, 1 - 2.0**-32, 1 - 2.0**-33, 1.0])
def test_probabilities_at_the_borders(p: float) -> None:
    drawn = run("bernoulli", 11, 0, 4096, 16, p)
    numpy.testing.assert_array_equal(drawn, philox.bernoulli(11, 0, p, 4096))
    assert drawn.all() or p < 1
    assert not drawn.any() or p > 0


def test_streams_and_seeds_differ() -> None:
    streams = {philox.words_from(seed, offset, 0, 8).tobytes() for seed, offset in SEEDS}
    assert len(streams) == len(SEEDS)


def test_distributions_have_their_moments() -> None:
    count = 400_000
    for uniform in (philox.uniform_single(3, 1, count), philox.uniform_double(3, 1, count)):
        assert uniform.min() >= 0 and uniform.max() < 1
        assert abs(uniform.mean() - 0.5) < 0.002 and abs(uniform.var() - 1 / 12) < 0.001
    for normal in (philox.normal_single(3, 1, count), philox.normal_double(3, 1, count)):
        wide = normal.astype(numpy.float64)
        assert abs(wide.mean()) < 0.006 and abs(wide.var() - 1) < 0.01
        assert abs((wide**3).mean()) < 0.02 and abs((wide**4).mean() - 3) < 0.05
        assert abs(numpy.corrcoef(wide[0::2], wide[1::2])[0, 1]) < 0.01
    assert abs(philox.bernoulli(3, 1, 0.3, count).mean() - 0.3) < 0.003


def test_normal_numbers_are_those_of_the_exact_formula() -> None:
    words = (philox._long_words(8, 2, 20_000, 0) >> numpy.uint64(11)).astype(numpy.longdouble)
    size, turn = (words[0::2] + 1) * 2.0**-53, words[1::2] * 2.0**-53
    angle = 2 * numpy.longdouble("3.14159265358979323846264338") * turn
    radius = numpy.sqrt(-2 * numpy.log(size))
    exact = numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle)], 1).ravel()
    assert abs(philox.normal_double(8, 2, 20_000) - exact).max() < 5e-15
