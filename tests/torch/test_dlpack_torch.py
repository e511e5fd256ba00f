"""DLPack exchange with PyTorch both ways: same memory, same values, and lifetimes that end."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import ml_dtypes
import numpy
import pytest
import torch

from thunk.tensor.dlpack import from_dlpack_object, to_capsule
from thunk.types.dtype import all_dtypes

DTYPES = [element.name for element in all_dtypes()]
LAYOUTS = {
    "row-major": lambda array: array,
    "transposed": lambda array: array.T,
    "strided": lambda array: array[::2, 1::2],
    "offset": lambda array: array[1:],
    "0-dim": lambda array: array[1, 2],
    "empty": lambda array: array[:0],
    "empty inside": lambda array: array[:, :0],
    "one row": lambda array: array[1],
}


class Producer:
    """An object of the protocol over an array, as a Thunk tensor will be."""

    def __init__(self, array, **forced):
        self.array = array
        self.forced = forced
        self.asked = []

    def __dlpack__(self, **arguments):
        self.asked.append(arguments)
        return to_capsule(self.array, **{**arguments, **self.forced})

    def __dlpack_device__(self):
        return (1, 0)


def make(name, layout):
    values = numpy.arange(24).reshape(4, 6) % (2 if name == "bool" else 24)
    element = ml_dtypes.bfloat16 if name == "bfloat16" else name
    # Indexing with integers alone gives a scalar, which owns its memory.
    return LAYOUTS[layout](values.astype(element))[...]


def plain(tensor):
    """The values of a tensor as an array that NumPy knows."""
    return tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DTYPES)
def test_to_torch(name, layout):
    array = numpy.asarray(make(name, layout))
    tensor = torch.from_dlpack(Producer(array))
    assert str(tensor.dtype) == f"torch.{name}"
    assert tuple(tensor.shape) == array.shape
    assert (plain(tensor) == array).all()
    if array.size:
        assert tensor.data_ptr() == array.ctypes.data
        tensor.fill_(1)
        assert (array == 1).all()
        array[...] = 0
        assert not tensor.any()


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DTYPES)
def test_from_torch(name, layout, versioned):
    tensor = LAYOUTS[layout](torch.arange(24).reshape(4, 6).to(getattr(torch, name)))
    source = tensor if versioned else torch.utils.dlpack.to_dlpack(tensor)
    array = from_dlpack_object(source)
    assert str(array.dtype) == name
    assert array.shape == tuple(tensor.shape)
    assert array.flags.writeable
    assert (array == plain(tensor)).all()
    if array.size:
        assert array.ctypes.data == tensor.data_ptr()
        array[...] = 0
        assert not tensor.any()
        assert tuple(stride // array.itemsize for stride in array.strides) == tensor.stride()


@pytest.mark.parametrize("name", ["float32", "bfloat16", "bool"])
def test_torch_keeps_the_producer_alive(name):
    array = numpy.zeros(1000, ml_dtypes.bfloat16 if name == "bfloat16" else name)
    alive = weakref.ref(array)
    tensor = torch.from_dlpack(to_capsule(array))
    del array
    gc.collect()
    assert alive() is not None
    view = tensor[10:]
    del tensor
    gc.collect()
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("name", ["float32", "bfloat16", "bool"])
def test_the_array_keeps_the_tensor_alive(name, versioned):
    # PyTorch holds this array as long as its own storage lives.
    memory = numpy.ones(1000, {"float32": "float32", "bfloat16": "int16", "bool": "bool"}[name])
    alive = weakref.ref(memory)
    tensor = torch.from_numpy(memory).view(getattr(torch, name))
    array = from_dlpack_object(tensor if versioned else torch.utils.dlpack.to_dlpack(tensor))
    del memory, tensor
    gc.collect()
    assert alive() is not None
    view = array[10:]
    del array
    gc.collect()
    assert alive() is not None
    assert view.all()
    del view
    gc.collect()
    assert alive() is None


def test_read_only_memory_is_exported_as_such():
    array = numpy.ones(3)
    array.flags.writeable = False
    with pytest.raises(BufferError):
        to_capsule(array)
    round_trip = from_dlpack_object(Producer(array))
    assert not round_trip.flags.writeable
    assert torch.from_dlpack(Producer(array)).sum() == 3


def test_torch_asks_for_versions_and_copies():
    producer = Producer(numpy.ones(3))
    torch.from_dlpack(producer)
    assert producer.asked == [{"max_version": (1, 0)}]
    copied = torch.from_dlpack(producer, copy=True)
    assert copied.data_ptr() != producer.array.ctypes.data
    same = torch.from_dlpack(producer, copy=False, device="cpu")
    assert same.data_ptr() == producer.array.ctypes.data


def test_torch_refuses_what_it_must():
    with pytest.raises(BufferError):
        from_dlpack_object(torch.ones(2, requires_grad=True))
    with pytest.raises(ValueError):
        from_dlpack_object(torch.ones(2, device="meta"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"stream": 3},
        {"stream": "a"},
        {"stream": None},
        {"stream": -1},
        {"stream": 0},
        {"max_version": (0, 8)},
        {"max_version": (1, 0)},
        {"max_version": (2, 0)},
        {"max_version": 1},
        {"dl_device": (1, 0)},
        {"dl_device": (1, 1)},
        {"copy": False},
        {"copy": True},
    ],
    ids=str,
)
def test_arguments(arguments):
    def outcome(function):
        try:
            return repr(function()).split(" at ")[0]
        except Exception as error:
            return type(error)

    tensor = torch.ones(3)
    mine = outcome(lambda: to_capsule(tensor.numpy(), **arguments))
    assert mine == outcome(lambda: tensor.__dlpack__(**arguments))


@pytest.mark.parametrize("source", [3, "x", None, [1, 2]])
def test_errors_of_import(source):
    with pytest.raises(RuntimeError):
        torch.from_dlpack(source)
    with pytest.raises(RuntimeError, match="from_dlpack: expected"):
        from_dlpack_object(source)


def test_capsules_serve_once():
    capsule = torch.utils.dlpack.to_dlpack(torch.ones(3))
    from_dlpack_object(capsule)
    with pytest.raises(RuntimeError, match="one import only"):
        from_dlpack_object(capsule)
    mine = to_capsule(numpy.ones(3))
    torch.from_dlpack(mine)
    with pytest.raises(RuntimeError):
        torch.from_dlpack(mine)


def test_exchange_outlives_the_interpreter():
    """Memory that is still shared when Python ends must not be freed through dead objects."""
    script = (
        "import numpy, torch, ml_dtypes, sys\n"
        "from thunk.tensor.dlpack import *\n"
        "a = torch.from_dlpack(to_capsule(numpy.ones(9, ml_dtypes.bfloat16)))\n"
        "b = from_dlpack_object(torch.ones(9, dtype=torch.bfloat16))\n"
        "c = to_capsule(numpy.ones(9, ml_dtypes.bfloat16))\n"
        "torch.kept = [a, b, c]; sys.kept = [a, b, c]\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
