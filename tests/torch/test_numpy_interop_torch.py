"""`array_from_object` against `torch.tensor`: values, shape and dtype, or the type of the error."""

from __future__ import annotations

import array
import collections
import decimal
import fractions
import math
import warnings
from pathlib import Path

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from thunk.tensor.numpy_interop import array_from_object, infer_dtype
from thunk.types.dtype import all_dtypes, dtype_named
from thunk.types.promotion import set_default_dtype
from thunk.types.tensor_base import TensorBase


class Held(TensorBase):
    """Stands for a Thunk tensor: holds the array of a PyTorch tensor."""

    __slots__ = ("array",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self.array = numpy.from_dlpack(tensor)


def read(tensor: Held) -> numpy.ndarray:
    return tensor.array


class WithDLPack:
    def __init__(self, held):
        self.held = held

    def __dlpack__(self, **arguments):
        return self.held.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


class WithArray:
    def __array__(self, *_, **__):
        return numpy.zeros(2)


class Index:
    def __index__(self):
        return 7


class Float:
    def __float__(self):
        return 7.5


class Complex:
    def __complex__(self):
        return 7.5j


class Indexable:
    def __len__(self):
        return 2

    def __getitem__(self, index):
        if index >= 2:
            raise IndexError
        return index + 1


class BrokenSequence(Indexable):
    def __getitem__(self, index):
        raise KeyError(index)


class Whole(int):
    pass


class Real(float):
    pass


Pair = collections.namedtuple("Pair", "a b")


def nested(depth):
    data = 1
    for _ in range(depth):
        data = [data]
    return data


def endless():
    data = []
    data.append(data)
    return data


def generator():
    yield 1


# One expression a line, so that each reads in a report; `T` makes a tensor.
CASES = (Path(__file__).parent / "tensor_inputs.txt").read_text().splitlines()
# What the expressions may name besides what stands above.
MODULES = {
    "array": array,
    "collections": collections,
    "decimal": decimal,
    "fractions": fractions,
    "numpy": numpy,
    "NAN": math.nan,
    "INF": math.inf,
}
# PyTorch takes nothing but Python's own integers for uint64, not even its tensors; Thunk takes all.
UNSIGNED_ONLY = "an integer is required"


def evaluate(case, make_tensor):
    """The data of a case, and of none other: sequences may be consumed."""
    return eval(case, {**globals(), **MODULES, "T": make_tensor})


def outcome(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except Exception as error:
            return error


def oracle_tensor(value, name=None):
    return torch.tensor(value, dtype=getattr(torch, name) if name else None)


def compare(case, name=None):
    compare_made(lambda make_tensor: evaluate(case, make_tensor), name)


def compare_made(make, name, may_have_many_errors=False):
    given_dtype = dtype_named(name) if name else None
    mine = outcome(
        lambda: array_from_object(
            make(lambda *a: Held(oracle_tensor(*a))), read_tensor=read, dtype=given_dtype
        )
    )
    oracle = outcome(
        lambda: torch.tensor(make(oracle_tensor), dtype=getattr(torch, name) if name else None)
    )
    if str(oracle) == UNSIGNED_ONLY:
        return
    if name == "uint64" and isinstance(oracle, OverflowError):
        # Thunk looks at the kinds of all items before the size of any.
        assert isinstance(mine, (OverflowError, TypeError))
        return
    if isinstance(oracle, Exception) and may_have_many_errors:
        # Which of them comes first is no part of the contract.
        assert isinstance(mine, (TypeError, ValueError, OverflowError, RuntimeError)), mine
        return
    if isinstance(oracle, Exception):
        assert type(mine) is type(oracle), f"{mine!r} instead of {oracle!r}"
        assert isinstance(mine, TypeError) or str(mine).startswith("tensor: expected "), mine
        return
    assert not isinstance(mine, Exception), f"{mine!r} instead of {oracle!r}"
    values, element = mine
    assert f"torch.{element.name}" == str(oracle.dtype)
    assert values.dtype == element.numpy
    assert values.shape == tuple(oracle.shape)
    if oracle.dtype == torch.bfloat16:
        values, oracle = values.astype(numpy.float32), oracle.float()
    numpy.testing.assert_array_equal(values, oracle.numpy())


def test_there_are_enough_cases():
    assert len(CASES) > 200


@pytest.mark.parametrize("case", CASES)
def test_inference(case):
    compare(case)


@pytest.mark.parametrize("case", CASES)
def test_given_dtype(case):
    for element in all_dtypes():
        compare(case, element.name)


LAYOUTS = [
    "numpy.arange(24).reshape(2, 3, 4)",
    "numpy.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)",
    "numpy.arange(48).reshape(2, 3, 8).transpose(2, 0, 1)[::2]",
    "numpy.arange(24).reshape(4, 6)[:, ::2]",
    "numpy.arange(24).reshape(4, 6).T[:, ::2]",
    "numpy.arange(24).reshape(4, 6).T[::2]",
    "numpy.broadcast_to(numpy.arange(3), (2, 3))",
    "numpy.broadcast_to(numpy.arange(3)[:, None], (3, 2))",
    "numpy.broadcast_to(numpy.arange(3)[:, None, None], (3, 2, 4)).transpose(1, 0, 2)",
    "numpy.arange(6).reshape(2, 1, 3).transpose(2, 1, 0)",
]


@pytest.mark.parametrize("name", [None, "int64", "float32", "float16", "bool", "complex64"])
@pytest.mark.parametrize("case", LAYOUTS)
def test_layout_of_copies(case, name):
    data = eval(case)
    values, _ = array_from_object(data, read_tensor=read, dtype=name and dtype_named(name))
    oracle = torch.tensor(data, dtype=name and getattr(torch, name))
    assert tuple(stride // values.itemsize for stride in values.strides) == oracle.stride()
    assert not numpy.shares_memory(values, data)


# With float16 as default, PyTorch's complex numbers are of a dtype that Thunk does not have.
DEFAULTS = [("float64", case) for case in CASES]
DEFAULTS += [("float16", case) for case in CASES if "j" not in case]


@pytest.mark.parametrize(("default", "case"), DEFAULTS)
def test_other_default_dtype(default, case):
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    set_default_dtype(dtype_named(default))
    try:
        compare(case)
    finally:
        torch.set_default_dtype(before)
        set_default_dtype(dtype_named("float32"))


numbers = (
    st.booleans()
    | st.integers(-300, 300)
    | st.integers()
    | st.floats()
    | st.floats(-300, 300)
    | st.complex_numbers()
)
trees = st.recursive(numbers, lambda inner: st.lists(inner, max_size=3), max_leaves=8)


@given(trees, st.none() | st.sampled_from([element.name for element in all_dtypes()]))
def test_generated(data, name):
    compare_made(lambda make_tensor: data, name, may_have_many_errors=True)


@pytest.mark.parametrize("case", ["[1, 2.5]", "numpy.arange(3)", "[T(1), T(2.)]", "[None]"])
def test_infer_dtype(case):
    mine = outcome(
        lambda: infer_dtype(evaluate(case, lambda *a: Held(oracle_tensor(*a))), read_tensor=read)
    )
    oracle = outcome(lambda: torch.tensor(evaluate(case, oracle_tensor)))
    if isinstance(oracle, Exception):
        assert type(mine) is type(oracle)
    else:
        assert f"torch.{mine.name}" == str(oracle.dtype)
