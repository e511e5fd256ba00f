"""DLPack exchange with NumPy and with itself: same memory, honest flags, lifetimes that end."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy
import pytest

from thunk.tensor.dlpack import CPU_DEVICE, from_dlpack_object, to_capsule
from thunk.types.dtype import all_dtypes

ELEMENTS = [element.numpy for element in all_dtypes()]
NUMPY_ELEMENTS = [element for element in ELEMENTS if element.kind != "V"]


class Producer:
    def __init__(self, array, **forced):
        self.array = array
        self.forced = forced

    def __dlpack__(self, **arguments):
        return to_capsule(self.array, **{**arguments, **self.forced})

    def __dlpack_device__(self):
        return CPU_DEVICE


class OldProducer(Producer):
    """From before versions and their argument."""

    def __dlpack__(self, stream=None):
        return to_capsule(self.array)


class Elsewhere(Producer):
    def __dlpack__(self, **arguments):
        raise AssertionError("must not be asked")

    def __dlpack_device__(self):
        return (2, 0)


@pytest.mark.parametrize("element", NUMPY_ELEMENTS, ids=str)
def test_numpy_reads_our_capsules(element):
    array = numpy.arange(12).reshape(3, 4).astype(element)[:, ::2]
    theirs = numpy.from_dlpack(Producer(array))
    assert theirs.dtype == element
    assert theirs.strides == array.strides
    assert theirs.ctypes.data == array.ctypes.data
    assert theirs.flags.writeable


@pytest.mark.parametrize("kind", [Producer, OldProducer])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_round_trip(element, shape, kind):
    array = numpy.ones(shape, element).T
    result = from_dlpack_object(kind(array))
    assert result.dtype == element
    assert result.shape == array.shape
    assert result.flags.writeable
    if array.size:
        assert result.ctypes.data == array.ctypes.data
        assert result.strides == array.strides
        result[...] = 0
        assert not array.any()


def test_import_of_an_array():
    array = numpy.arange(6)
    assert numpy.shares_memory(from_dlpack_object(array), array)
    assert not numpy.shares_memory(from_dlpack_object(array, copy=True), array)


@pytest.mark.parametrize("element", ["float32", "bfloat16"])
def test_the_producer_lives_as_long_as_the_consumer(element):
    array = numpy.zeros(100, numpy.dtype(element))
    alive = weakref.ref(array)
    result = from_dlpack_object(to_capsule(array))[3:][::2]
    del array
    gc.collect()
    assert alive() is not None
    assert not result.any()
    del result
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("max_version", [None, (1, 0)])
@pytest.mark.parametrize("element", ["float32", "bfloat16"])
def test_a_capsule_that_nobody_takes_lets_go(element, max_version):
    array = numpy.zeros(100, numpy.dtype(element))
    alive = weakref.ref(array)
    capsule = to_capsule(array, max_version=max_version)
    del array
    gc.collect()
    assert alive() is not None
    del capsule
    gc.collect()
    assert alive() is None


def test_a_capsule_dropped_by_an_exception_keeps_the_exception():
    array = numpy.zeros(100, ml_dtypes.bfloat16)
    alive = weakref.ref(array)
    with pytest.raises(ZeroDivisionError):
        [to_capsule(array), 1 // 0]
    del array
    gc.collect()
    assert alive() is None


def test_read_only_memory():
    array = numpy.ones(3, ml_dtypes.bfloat16)
    array.flags.writeable = False
    assert not from_dlpack_object(Producer(array)).flags.writeable
    assert from_dlpack_object(Producer(array), copy=True).flags.writeable
    with pytest.raises(BufferError):
        to_capsule(array)


def test_reversed_memory_is_refused():
    with pytest.raises(BufferError, match="__dlpack__: expected strides"):
        to_capsule(numpy.arange(3)[::-1])


def test_memory_of_other_devices_is_refused():
    with pytest.raises(BufferError, match="from_dlpack: expected memory that the CPU can read"):
        from_dlpack_object(Elsewhere(numpy.ones(1)))
    with pytest.raises(BufferError, match="__dlpack__: expected a CPU device"):
        to_capsule(numpy.ones(1), dl_device=(2, 0))


@pytest.mark.parametrize("element", ["longdouble", "U1", "O", ">f4"])
def test_elements_without_a_code_are_refused(element):
    with pytest.raises(BufferError):
        to_capsule(numpy.zeros(1, element))


def test_copies():
    array = numpy.ones(3, ml_dtypes.bfloat16)
    copied = from_dlpack_object(to_capsule(array, copy=True))
    copied[...] = 0
    assert array.all()
    assert copied.dtype == array.dtype
