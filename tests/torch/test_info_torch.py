"""`finfo` and `iinfo` against PyTorch's: every attribute, text, comparison and error type."""

from __future__ import annotations

import pytest
import torch

from thunk.types import dtype as dtypes
from thunk.types.dtype import all_dtypes
from thunk.types.info import finfo, iinfo
from thunk.types.promotion import set_default_dtype

FLOATING = [element for element in all_dtypes() if element.is_inexact]
INTEGER = [element for element in all_dtypes() if not element.is_inexact and element.name != "bool"]
FLOAT_FIELDS = ("bits", "dtype", "max", "min", "eps", "resolution", "smallest_normal", "tiny")
INTEGER_FIELDS = ("bits", "dtype", "max", "min")


def theirs(element):
    return getattr(torch, element.name)


@pytest.mark.parametrize("element", FLOATING, ids=repr)
def test_finfo(element):
    ours, oracle = finfo(element), torch.finfo(theirs(element))
    for field in FLOAT_FIELDS:
        mine, other = getattr(ours, field), getattr(oracle, field)
        assert (type(mine), mine) == (type(other), other), field
    assert repr(ours) == repr(oracle)
    assert str(ours) == str(oracle)


@pytest.mark.parametrize("element", INTEGER, ids=repr)
def test_iinfo(element):
    ours, oracle = iinfo(element), torch.iinfo(theirs(element))
    for field in INTEGER_FIELDS:
        mine, other = getattr(ours, field), getattr(oracle, field)
        assert (type(mine), mine) == (type(other), other), field
    assert repr(ours) == repr(oracle)


@pytest.mark.parametrize("default", ["float32", "float64", "float16", "bfloat16"])
def test_default_argument(default):
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    set_default_dtype(dtypes.dtype_named(default))
    try:
        assert repr(finfo()) == repr(torch.finfo())
    finally:
        torch.set_default_dtype(before)
        set_default_dtype(dtypes.float32)


def test_comparison():
    pairs = [
        (finfo(dtypes.float32), torch.finfo(torch.float32)),
        (finfo(dtypes.complex64), torch.finfo(torch.complex64)),
        (finfo(dtypes.float64), torch.finfo(torch.float64)),
        (iinfo(dtypes.int8), torch.iinfo(torch.int8)),
        (iinfo(dtypes.int16), torch.iinfo(torch.int16)),
    ]
    # PyTorch reads other types' memory as if it were an info, so only infos are compared with it.
    for left, left_oracle in pairs:
        for right, right_oracle in pairs:
            assert (left == right) == (left_oracle == right_oracle)
            assert (left != right) == (left_oracle != right_oracle)
        assert left != 1
        assert left != left.dtype


def failure(function):
    with pytest.raises(Exception) as caught:
        function()
    return caught.type


ERRORS = {
    "finfo of an integer": lambda f, i, d: f(d.int32),
    "finfo of bool": lambda f, i, d: f(d.bool),
    "iinfo of a float": lambda f, i, d: i(d.float32),
    "iinfo of a complex": lambda f, i, d: i(d.complex64),
    "iinfo of bool": lambda f, i, d: i(d.bool),
    "iinfo of nothing": lambda f, i, d: i(),
    "finfo of a number": lambda f, i, d: f(3),
    "finfo of None": lambda f, i, d: f(None),
    "finfo of a name": lambda f, i, d: f("float32"),
    "iinfo of a number": lambda f, i, d: i(3),
    "two arguments": lambda f, i, d: f(d.float32, 1),
    "wrong keyword": lambda f, i, d: f(dtype=d.float32),
    "ordering": lambda f, i, d: f(d.float32) < f(d.float64),
    "hash": lambda f, i, d: hash(f(d.float32)),
    "hash of iinfo": lambda f, i, d: hash(i(d.int8)),
    "assignment": lambda f, i, d: setattr(f(d.float32), "bits", 3),
    "new attribute": lambda f, i, d: setattr(i(d.int8), "other", 3),
}


class _Ours:
    """Thunk's dtypes under the attribute names of the torch module."""

    def __getattr__(self, name):
        return dtypes.dtype_named(name)


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call = ERRORS[name]
    mine = failure(lambda: call(finfo, iinfo, _Ours()))
    assert mine is failure(lambda: call(torch.finfo, torch.iinfo, torch))


def test_keyword():
    assert finfo(type=dtypes.float64) == finfo(dtypes.float64)
    assert iinfo(type=dtypes.int8) == iinfo(dtypes.int8)
