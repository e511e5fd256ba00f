"""Limits of dtypes against fixed texts, each of them PyTorch's."""

from __future__ import annotations

import pytest

from thunk.types import dtype as dtypes
from thunk.types.info import finfo, iinfo


def test_texts():
    assert repr(finfo(dtypes.bfloat16)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)"
    )
    assert repr(iinfo(dtypes.int32)) == "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"


def test_values():
    assert finfo().eps == 2.0**-23
    assert finfo(dtypes.float16).max == 65504.0
    assert finfo(dtypes.complex128) == finfo(dtypes.float64)
    assert iinfo(dtypes.uint64).max == 2**64 - 1
    assert iinfo(dtypes.int8).bits == 8


@pytest.mark.parametrize(
    ("kind", "element"),
    [(finfo, dtypes.int32), (iinfo, dtypes.float32), (iinfo, dtypes.bool_), (finfo, None)],
)
def test_errors(kind, element):
    with pytest.raises(TypeError, match=f"^{kind.__name__}: expected .*, got "):
        kind(element)
