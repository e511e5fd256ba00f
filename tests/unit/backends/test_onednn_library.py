"""Finding oneDNN, its absence, layouts there and back, errors, handles, and forked children."""

import ctypes
import gc
import importlib.metadata
import subprocess
import sys

import pytest

from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.layout import free, plain
from thunk.backends.cpu.calls.specs import Convolution, Relu, Reorder, matmul
from thunk.backends.cpu.onednn import find
from thunk.backends.cpu.onednn.api import LibraryError
from thunk.backends.cpu.onednn.call import OneDnnCall
from thunk.backends.cpu.onednn.descriptors import descriptor, layout_of
from thunk.backends.cpu.onednn.handles import live
from thunk.base.config import config
from thunk.types.dtype import bfloat16, float32, float64, int64


def training_convolution() -> Convolution:
    return Convolution(
        "forward",
        free((2, 20, 9, 9), float32),
        free((24, 20, 3, 3), float32),
        free((2, 24, 9, 9), float32),
        None, (1, 1), (1, 1), (1, 1), (1, 1), threads=2,
    )  # fmt: skip


def test_the_package_says_where_the_library_is() -> None:
    status = find.status()
    assert status.found and status.version.startswith("3.")
    assert find.library_path().name.startswith("libdnnl.so")
    assert str(status).startswith("oneDNN 3.")


def test_absence_by_option() -> None:
    with config.override(onednn=False):
        status = find.status()
        assert not status.found
        assert str(status) == "oneDNN is not used: the option THUNK_ONEDNN is off"
        with pytest.raises(RuntimeError, match="expected the library, got none"):
            find.library()
    assert find.status().found


def missing(name: str) -> importlib.metadata.Distribution:
    raise importlib.metadata.PackageNotFoundError(name)


def test_absence_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    assert find._find()[0].reason == "the package onednn-cpu-gomp is not installed"


def test_absence_of_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "OPENMP", "libgomp-of-another-machine.so.1")
    status = find._find()[0]
    assert not status.found
    assert "install the system's package of the GNU OpenMP runtime" in status.reason


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "OLDEST", (3, 99))
    assert "expected version 3.99 or a later one of 3.x, got 3." in find._find()[0].reason


@pytest.mark.parametrize(
    "layout",
    [
        plain((3, 5), float32),
        plain((3, 5), float32).transposed(),
        plain((2, 3, 1, 5), bfloat16, (15, 5, 5, 1)),
    ],
    ids=str,
)
def test_plain_layouts_come_back(layout: object) -> None:
    assert layout_of(descriptor(layout).pointer) == layout  # type: ignore[arg-type]


def test_chosen_layouts_come_back_from_their_own_values() -> None:
    """They can be written down and made again, in another process too."""
    call = build(training_convolution())
    chosen = [operand.layout for operand in call.operands if not operand.layout.is_plain]
    assert chosen
    for layout in chosen:
        assert layout_of(descriptor(layout).pointer) == layout
    again = build(training_convolution())
    assert [each.layout.key for each in again.operands] == [
        each.layout.key for each in call.operands
    ]


def test_padding_to_a_whole_block_is_told() -> None:
    layout = build(training_convolution()).layout("result")
    if layout.blocks:
        assert layout.has_padding
        assert layout.nbytes == 4 * 2 * layout.padded[1] * 9 * 9


def test_errors_name_the_call_and_the_operands() -> None:
    with pytest.raises(LibraryError, match=r"expected float32, bfloat16.*float64\[2x3\]:3,1"):
        OneDnnCall(Reorder(plain((2, 3), float64), plain((2, 3), float64)))
    wrong = matmul(plain((2, 3), float32), plain((3, 2), bfloat16), plain((2, 2), float32))
    with pytest.raises(LibraryError, match=r"matmul_primitive_desc_create.*for matmul float32"):
        OneDnnCall(wrong)


def test_no_handle_outlives_its_object() -> None:
    gc.collect()
    before = +live
    spec = matmul(
        plain((8, 9), float32), plain((9, 7), float32), plain((8, 7), float32), post=(Relu(),)
    )
    calls = [build(spec), build(training_convolution())]
    bound = [call.bind() for call in calls for _ in range(3)]
    assert live["memory"] > before["memory"] and live["primitive"] > before["primitive"]
    with pytest.raises(LibraryError):
        OneDnnCall(Reorder(plain((2,), int64), plain((2,), float32)))
    del calls, bound
    gc.collect()
    assert +live == before


def test_one_call_serves_equal_specs() -> None:
    """Layers of one size share a primitive; each use is bound on its own."""
    first, second = build(training_convolution()), build(training_convolution())
    assert first is second
    uses = first.bind(), second.bind()
    assert uses[0].context != uses[1].context
    with config.override(onednn=False):
        assert build(training_convolution()) is not first


def test_addresses_are_set_only_when_they_move() -> None:
    """The context holds each operand's address between runs."""
    call = build(matmul(plain((2, 2), float32), plain((2, 2), float32), plain((2, 2), float32)))
    bound = call.bind()
    values = (ctypes.c_float * 12)(1, 2, 3, 4, 1, 0, 0, 1)
    start = ctypes.addressof(values)
    scratch = ctypes.create_string_buffer(call.scratchpad + 64)
    pointers = (ctypes.c_void_p * 4)(start, start + 16, start + 32, ctypes.addressof(scratch))
    bound.run(ctypes.addressof(pointers))
    assert values[8:12] == [1, 2, 3, 4]
    values[4] = 2
    bound.run(ctypes.addressof(pointers))
    assert values[8:12] == [2, 2, 6, 4]
    pointers[0] = start + 16
    bound.run(ctypes.addressof(pointers))
    assert values[8:12] == [4, 0, 0, 1]


FORK = """
import os, signal, sys
import numpy
sys.path.insert(0, {support!r})
from library_calls import run
from thunk.backends.cpu.calls.build import build
from thunk.backends.cpu.calls.layout import free, plain
from thunk.backends.cpu.calls.pool import is_forked
from thunk.backends.cpu.calls.specs import Convolution, matmul
from thunk.types.dtype import float32
def shape(*extents): return plain(extents, float32)
a, b = numpy.random.rand(300, 301), numpy.random.rand(301, 302)
product = build(matmul(shape(300, 301), shape(301, 302), shape(300, 302), threads=2))
image, weight = numpy.random.rand(4, 20, 12, 12), numpy.random.rand(24, 20, 3, 3)
convolution = build(Convolution("weight", free((4, 20, 12, 12), float32),
    free((24, 20, 3, 3), float32), free((4, 24, 10, 10), float32), shape(24),
    (1, 1), (1, 1), (0, 0), (0, 0), threads=2))
result = numpy.random.rand(4, 24, 10, 10)
def both(products, convolutions):
    first = run(products, left=a, right=b)["out"]
    return first, run(convolutions, image=image, result=result)["weight"]
def kept():
    # bound before the fork, as a compiled program's calls are
    import ctypes
    call = product.bind()
    memories = [m.astype("f4") for m in (a, b)] + [numpy.zeros((300, 302), "f4")]
    memories.append(numpy.zeros(product.scratchpad + 64, "u1"))
    pointers = (ctypes.c_void_p * 4)(*[m.ctypes.data for m in memories])
    def again():
        memories[2][...] = 0
        call.run(ctypes.addressof(pointers))
        return memories[2].copy()
    return again
again = kept()
before = both(product, convolution)
bound_before = again()
child = os.fork()
if not child:
    signal.alarm(40)  # a child that waits for threads it does not have must not stay for ever
    try:
        assert is_forked()
        assert numpy.allclose(again(), bound_before, rtol=1e-5)
        assert numpy.allclose(again(), bound_before, rtol=1e-5)
        fresh = build(product.spec)
        assert fresh.threads == 1
        for one, other in zip(before, both(fresh, build(convolution.spec))):
            assert numpy.allclose(one, other, rtol=1e-5)
        os._exit(0)
    except BaseException:
        import traceback; traceback.print_exc()
        os._exit(1)
status = os.waitpid(child, 0)[1]
assert numpy.array_equal(again(), bound_before) and product.threads == 2
sys.exit(status != 0)
"""


def run_script(text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def support() -> str:
    return next(path for path in sys.path if path.endswith("support"))


def test_a_forked_child_runs_what_its_parent_built() -> None:
    run_script(FORK.format(support=support()))
