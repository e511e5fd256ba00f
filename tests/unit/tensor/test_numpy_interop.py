"""User data to arrays: the inferred dtype, and complaints that name the position."""

from __future__ import annotations

import ml_dtypes
import numpy
import pytest

from thunk.tensor.numpy_interop import array_from_object, array_to_share, infer_dtype
from thunk.types import dtype as dtypes
from thunk.types.tensor_base import TensorBase


class Held(TensorBase):
    __slots__ = ("array",)

    def __init__(self, values, element="float32"):
        self.array = numpy.array(values, element)

    def __repr__(self) -> str:
        # Test ids must not hold addresses: two processes have to collect the same names.
        return f"Held({self.array!r})"


def read(tensor):
    return tensor.array


def make(data, dtype=None):
    return array_from_object(data, read_tensor=read, dtype=dtype)


@pytest.mark.parametrize(
    ("data", "element", "shape"),
    [
        (True, dtypes.bool_, ()),
        (3, dtypes.int64, ()),
        ([1, 2.5], dtypes.float32, (2,)),
        ([[1j], [2]], dtypes.complex64, (2, 1)),
        ([[], []], dtypes.float32, (2, 0)),
        ([numpy.int8(1), True], dtypes.int8, (2,)),
        (numpy.zeros((2, 3), "uint16"), dtypes.uint16, (2, 3)),
        (numpy.zeros(2, ml_dtypes.bfloat16), dtypes.bfloat16, (2,)),
        ([ml_dtypes.bfloat16(1)], dtypes.bfloat16, (1,)),
        ([Held(1.0), 2], dtypes.float32, (2,)),
        (Held([1, 2], "int32"), dtypes.int32, (2,)),
        ([[1, 2], Held([3, 4], "int64")], dtypes.int64, (2, 2)),
    ],
    ids=repr,
)
def test_inference(data, element, shape):
    array, found = make(data)
    assert found is element
    assert infer_dtype(data, read_tensor=read) is element
    assert array.dtype == element.numpy
    assert array.shape == shape


@pytest.mark.parametrize(
    ("data", "dtype", "kind", "words"),
    [
        ([[1, 2], [3]], None, ValueError, r"length 2 at dim 1 \(got 1\), got it at data\[1\];"),
        ([[[1], [2]], [[3], []]], None, ValueError, r"dim 2 \(got 0\), got it at data\[1\]\[1\];"),
        ([[1], 2], None, TypeError, r"a sequence at data\[1\], got int"),
        ([1, [2]], None, TypeError, r"an integer at data\[1\], got 'list'"),
        ([[1.5], [None]], dtypes.float32, TypeError, r"a real number at data\[1\]\[0\]"),
        ([[1, 2], [3, 300]], dtypes.uint8, RuntimeError, r"data\[1\] that fit, got 300"),
        ([1.0, -1.5], dtypes.uint8, RuntimeError, r"data\[1\] that fit, got -1.5"),
        (2**63, None, ValueError, r"integers in data of at most 64 bits"),
        ([None], None, RuntimeError, "Could not infer dtype of NoneType"),
        (["a"], None, ValueError, "too many dimensions 'str'"),
        ("a", None, TypeError, "invalid data type 'str'"),
        ([Held([1, 2])], None, ValueError, r"only one element tensors at data\[0\]"),
        ([3, Held(1.5)], dtypes.int64, TypeError, r"an integer tensor .* at data\[1\]"),
        ([numpy.uint16(1), 1], None, RuntimeError, "got torch.uint16 and torch.int64"),
    ],
    ids=repr,
)
def test_errors(data, dtype, kind, words):
    with pytest.raises(kind, match="^tensor: expected .*" + words):
        make(data, dtype)


def test_the_operator_is_named():
    with pytest.raises(RuntimeError, match=r"^as_tensor: "):
        array_from_object(None, read_tensor=read, op="as_tensor")


def test_result_never_shares_memory():
    for data in (numpy.arange(3), Held([1, 2])):
        array, _ = make(data)
        source = data if isinstance(data, numpy.ndarray) else data.array
        assert not numpy.shares_memory(array, source)


def test_array_to_share():
    array = numpy.arange(3)
    assert array_to_share(array) is array
    with pytest.raises(TypeError, match=r"from_numpy: expected a numpy\.ndarray, got list"):
        array_to_share([1])
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="read-only"):
        array_to_share(array)
