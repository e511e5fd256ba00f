"""Which BLAS is used and why, and OpenBLAS beside our pool of threads."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from library_calls import run
from thunk.backends.cpu.blas.call import OwnCall
from thunk.backends.cpu.blas.find import _of_numpy, _of_scipy, blas
from thunk.backends.cpu.blas.product import Product, way_of
from thunk.backends.cpu.calls import openblas, pool
from thunk.backends.cpu.calls.layout import Layout, plain
from thunk.backends.cpu.calls.specs import Reorder, matmul
from thunk.backends.cpu.llvm.gemm_context import Way
from thunk.base.config import config
from thunk.types.dtype import float32, int32


def test_numpy_brings_one_along() -> None:
    with config.override(blas="numpy"):
        assert str(blas()) == "BLAS of numpy"
        with config.override(blas="auto"):
            assert blas().provider == "numpy"
        assert blas().gemm(4) and blas().gemm(8) and blas().gemm(4) != blas().gemm(8)


def test_own_kernels_by_option() -> None:
    with config.override(blas="own"):
        assert not blas().found
        assert str(blas()) == "own kernels: the option THUNK_BLAS is own"


def test_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thunk.backends.cpu.blas.find.find_openblas", lambda package: None)
    assert _of_numpy().reason == "NumPy brings no OpenBLAS along"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert _of_scipy().reason == "SciPy is not installed"


@pytest.mark.skipif(importlib.util.find_spec("scipy") is None, reason="SciPy is not installed")
def test_scipy_publishes_its_own() -> None:
    with config.override(blas="scipy"):
        assert str(blas()) == "BLAS of scipy"


def test_openblas_is_held_while_the_pool_has_threads() -> None:
    openblas.release()
    found = openblas.find_openblas("numpy")
    assert found is not None
    found.set_threads(2)
    assert pool.usable_threads(1) == 1 and found.threads() == 2
    assert pool.usable_threads(2) == 2 and found.threads() == 1
    assert pool.usable_threads(2) == 2
    openblas.release()
    assert found.threads() == 2
    openblas.hold()
    assert found.threads() == 1


def test_without_openmp_everything_is_serial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "openmp", lambda: None)
    assert pool.usable_threads(8) == 1


def test_the_way_follows_the_layout() -> None:
    def square(size: int, transposed: bool = False) -> Layout:
        layout = plain((size, size), float32)
        return layout.transposed() if transposed else layout

    def way(left: Layout, right: Layout) -> Way:
        out = plain((left.shape[0], right.shape[1]), float32)
        return way_of(matmul(left, right, out))

    with config.override(blas="own"):
        assert way(square(64), square(64)) is Way.SPREAD
        assert way(square(64, True), square(64)) is Way.SPREAD
        assert way(square(64), square(64, True)) is Way.PACKED
        assert way(plain((16, 64), float32), square(64, True)) is Way.DOT
        assert way(plain((1, 800), float32), square(800, True)) is Way.DOT
        assert way(square(64, True), square(64, True)) is Way.PACKED
        assert way(square(800), square(800)) is Way.PACKED
    with config.override(blas="numpy"):
        assert way(square(800), square(800, True)) is Way.BLAS
        assert way(square(800), square(800)) is Way.PACKED


def test_threads_change_no_bit() -> None:
    """Each element is summed in the same order, however rows and columns are divided."""
    random = numpy.random.default_rng(2)
    values = {"left": random.random((90, 300)), "right": random.random((300, 130))}
    for way in (Way.SPREAD, Way.PACKED):
        found = []
        for threads in (1, 2, 3):
            spec = matmul(
                plain((90, 300), float32), plain((300, 130), float32), plain((90, 130), float32),
                threads=threads,
            )  # fmt: skip
            found.append(run(Product(spec, way), **values)["out"])
        assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


def test_a_blocked_layout_needs_the_library_that_made_it() -> None:
    blocked = Layout((2, 32), float32, (32, 16), ((1, 16),))
    with pytest.raises(RuntimeError, match="library call: expected plain layouts, got float32"):
        OwnCall(Reorder(blocked, plain((2, 32), float32)))


def test_elements_that_are_only_moved_may_be_of_any_type() -> None:
    call = OwnCall(Reorder(plain((3, 4), int32), plain((3, 4), int32, (1, 3))))
    assert call.layout("result").strides == (1, 3)


STORED = """
import numpy, sys
sys.path.insert(0, {support!r})
from library_calls import run
from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.layout import plain
from thunk.backends.cpu.calls.specs import matmul
from thunk.backends.cpu.llvm.store import store
from thunk.types.dtype import float32
square = plain((16, 16), float32)
values = numpy.eye(16)
found = run(build(matmul(square, square, square)), left=values, right=2 * values)["out"]
assert (found == 2 * values).all()
print(store.counts.hits, store.counts.misses)
"""


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    support = next(path for path in sys.path if path.endswith("support"))
    environment = {**os.environ, "THUNK_CACHE_DIR": str(tmp_path)}
    counts = [
        subprocess.run(
            [sys.executable, "-c", STORED.format(support=support)],
            env=environment, capture_output=True, text=True, check=True, timeout=60,
        ).stdout.split()
        for _ in range(2)
    ]  # fmt: skip
    assert counts == [["0", "1"], ["1", "0"]]
